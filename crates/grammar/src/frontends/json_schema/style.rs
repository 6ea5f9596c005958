//! The styles in which the value of a schema can be written.

/// How a value is written: as JSON, or as the tags in which some models write the arguments of a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Style {
    /// JSON.
    #[default]
    Json,
    /// `<parameter=K>V</parameter>`
    QwenXml,
    /// `<parameter name="K">V</parameter>`
    MinimaxXml,
    /// `]<]minimax[>[<K>V]<]minimax[>[</K>`, at all levels
    MinimaxM3Xml,
    /// `<｜DSML｜parameter name="K" string="true">V</｜DSML｜parameter>`
    DeepseekXml,
    /// `<｜DSML｜ parameter name="K" string="true">V</｜DSML｜ parameter>`
    DeepseekV41Xml,
    /// `<arg_key>K</arg_key><arg_value>V</arg_value>`
    GlmXml,
    /// `<cofl:value name="K" type="raw">V</cofl:value>`, at all levels
    CohereXml,
    /// `<|open|>argument key="K" type="string"<|sep|>V<|close|>argument<|sep|>`
    KimiK3Xml,
    /// `{K:<|"|>V<|"|>,K:V}`, at all levels; XGrammar does not have it
    Gemma,
}

/// All styles by name.
const STYLES: &[(&str, Style)] = &[
    ("json", Style::Json),
    ("qwen_xml", Style::QwenXml),
    ("minimax_xml", Style::MinimaxXml),
    ("minimax_m3_xml", Style::MinimaxM3Xml),
    ("deepseek_xml", Style::DeepseekXml),
    ("deepseek_v4_1_xml", Style::DeepseekV41Xml),
    ("glm_xml", Style::GlmXml),
    ("cohere_xml", Style::CohereXml),
    ("kimi_k3_xml", Style::KimiK3Xml),
    ("gemma", Style::Gemma),
];

impl Style {
    /// The style of a name.
    pub fn find(name: &str) -> Option<Self> {
        STYLES.iter().find(|(known, _)| *known == name).map(|(_, style)| *style)
    }

    /// The names of all styles.
    pub fn names() -> impl Iterator<Item = &'static str> {
        STYLES.iter().map(|(name, _)| *name)
    }
}

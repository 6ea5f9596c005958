//! Values of a JSON Schema: `json_schema`, and `qwen_xml_parameter`, its older form.

use super::super::fields::Fields;
use super::super::lowering::{Context, Lowered, Lowering};
use crate::error::Result;
use crate::frontends::json_schema::{self, Embedded, Options, Style};

/// A value of a schema, in one of the styles.
pub(super) fn json_schema(
    lowering: &mut Lowering<'_>,
    fields: &Fields<'_, '_>,
    _: Context<'_>,
) -> Result<Lowered> {
    let style = match fields.get("style") {
        None => Style::Json,
        Some(value) => {
            let name = value.as_str().ok_or_else(|| fields.wrong("style", "a string", value))?;
            Style::find(name).ok_or_else(|| {
                let known: Vec<&str> = Style::names().collect();
                let message = format!("there is no style {name:?}; the styles are {}", known.join(", "));
                fields.path.key("style").invalid(message)
            })?
        }
    };
    let max_whitespace = fields.count("max_whitespace_cnt")?;
    if max_whitespace == Some(0) {
        let path = fields.path.key("max_whitespace_cnt");
        return Err(path.invalid("`max_whitespace_cnt` must be at least 1"));
    }
    let options = Options {
        any_order: fields.flag("any_order", false)?,
        max_whitespace,
        style,
        spelling: lowering.spelling,
        excludes: fields.excludes()?.into_iter().map(String::from).collect(),
        ..Options::default()
    };
    lower(lowering, fields, &options)
}

/// A value of a schema in the style `qwen_xml`.
pub(super) fn qwen_xml(
    lowering: &mut Lowering<'_>,
    fields: &Fields<'_, '_>,
    _: Context<'_>,
) -> Result<Lowered> {
    let style = Style::find("qwen_xml").unwrap_or_default();
    let options = Options { style, spelling: lowering.spelling, ..Options::default() };
    lower(lowering, fields, &options)
}

fn lower(lowering: &mut Lowering<'_>, fields: &Fields<'_, '_>, options: &Options) -> Result<Lowered> {
    let schema = fields.need("json_schema")?;
    if !schema.is_schema() {
        return Err(fields.wrong("json_schema", "an object or a boolean", schema));
    }
    let text = schema.to_string();
    let key = format!(
        "{:?} {:?} {:?} {:?} {text}",
        options.style, options.any_order, options.max_whitespace, options.excludes
    );
    if let Some(schemas) = &mut lowering.schemas {
        let place = fields.path.key("json_schema").pointer();
        schemas.push(Embedded { place, schema: text.clone(), options: options.clone() });
    }
    if let Some(&known) = lowering.parts.get(&key) {
        return Ok(Lowered::closed(known));
    }
    let document = lowering.document.part(schema);
    let rules = lowering.shared.builder.rule_count();
    let converted = json_schema::convert_into(&mut lowering.shared, &document, options, lowering.budget);
    let expr = converted.map_err(|error| fields.path.key("json_schema").within("the schema", &error))?;
    lowering.rename(rules);
    lowering.doubt(expr, &fields.path.key("json_schema"), text, options);
    lowering.parts.insert(key, expr);
    Ok(Lowered::closed(expr))
}

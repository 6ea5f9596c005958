//! The official suite of JSON Schema: what it calls invalid is never in the language of a format, and what it calls
//! valid is, but for the strings listed here.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::{Language, find};

/// Valid strings that a format leaves out, and why.
struct LeftOut {
    format: &'static str,
    reason: &'static str,
    strings: &'static [&'static str],
}

const LEFT_OUT: &[LeftOut] = &[
    LeftOut {
        format: "time",
        reason: "leap seconds are known for offsets of whole hours",
        strings: &["00:29:60-23:30", "01:29:60+01:30", "23:29:60+23:30"],
    },
    LeftOut {
        format: "hostname",
        reason: "whether Punycode decodes to something valid is not regular",
        strings: &[
            "xn--0-gyc",
            "xn--11b2ezcs70k",
            "xn--11b2ezcw70k",
            "xn--4dbc5h",
            "xn--4dbc8h",
            "xn--4gbwdl.xn--wgbh1c",
            "xn--9n2bp8q.xn--9t4b11yi5a",
            "xn--bck0j",
            "xn--k8j5u",
            "xn--ll-0ea",
            "xn--ngba1o",
            "xn--ngba5hb2804a",
            "xn--qmbc",
            "xn--vek778f",
            "xn--wva3je",
            "xn--zca29lwxobi7a",
        ],
    },
    LeftOut {
        format: "idn-hostname",
        reason: "whether Punycode decodes to something valid is not regular",
        strings: &["xn--ihqwcrb4cv8a8dqg056pqjye"],
    },
    LeftOut {
        format: "idn-hostname",
        reason: "RFC 5890 knows no other dots; mapping them to `.` is left to the user interface",
        strings: &[
            "a\u{3002}b",
            "a\u{ff0e}b",
            "a\u{ff61}b",
            "παράδειγμαπαράδειγμαπαράδειγμαπαράδειγμαπαράδειγμαπα\u{3002}com",
            "παράδειγμαπαράδειγμαπαράδειγμαπαράδειγμαπαράδειγμαπα\u{ff0e}com",
            "παράδειγμαπαράδειγμαπαράδειγμαπαράδειγμαπαράδειγμαπα\u{ff61}com",
        ],
    },
    LeftOut {
        format: "idn-hostname",
        reason: "labels are short enough for the worst case of Punycode",
        strings: &["παράδειγμαπαράδειγμαπαράδειγμαπαράδειγμαπαράδειγμαπα.com"],
    },
    LeftOut {
        format: "idn-hostname",
        reason: "no character whose place in a label depends on its neighbours",
        strings: &[
            "l\u{b7}l",
            "α\u{375}β",
            "א\u{5f3}ב",
            "א\u{5f4}ב",
            "بي\u{200c}بي",
            "क\u{94d}\u{200c}ष",
            "क\u{94d}\u{200d}ष",
            "\u{6f0}0",
            "\u{30fb}ぁ",
            "\u{30fb}ァ",
            "\u{30fb}丈",
        ],
    },
    LeftOut {
        format: "idn-hostname",
        reason: "a label has letters of one of the listed scripts, without their rare signs",
        strings: &["ßς\u{f0b}\u{3007}", "\u{6fd}\u{6fe}"],
    },
    LeftOut {
        format: "idn-email",
        reason: "labels of domains are in normal form C",
        strings: &["user@cafe\u{301}.com"],
    },
    LeftOut {
        format: "regex",
        reason: "names of groups must be unique, which is not regular",
        strings: &["(?<n>a)\\k<n>", "(?<name>x)"],
    },
];

fn suite() -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/json-schema-test-suite/tests");
    if !root.is_dir() {
        eprintln!("skipped: the JSON Schema test suite is not at {}", root.display());
        return None;
    }
    Some(root)
}

/// The files of one draft that are about formats.
fn files(root: &Path, draft: &str) -> Vec<PathBuf> {
    let folder = root.join(draft).join("optional/format");
    let listed = std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    listed.map(|entry| entry.unwrap().path()).collect()
}

/// The strings of a file that are tested against a `format` alone: format, string, validity.
fn cases(file: &Path) -> Vec<(String, String, bool)> {
    let groups: Value = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    let mut cases = Vec::new();
    for group in groups.as_array().unwrap() {
        let Some(format) = group["schema"]["format"].as_str() else { continue };
        for test in group["tests"].as_array().unwrap() {
            if let Some(text) = test["data"].as_str() {
                cases.push((format.to_owned(), text.to_owned(), test["valid"].as_bool().unwrap()));
            }
        }
    }
    cases
}

#[test]
fn the_suite_agrees() {
    let Some(root) = suite() else { return };
    let mut languages: BTreeMap<String, Language> = BTreeMap::new();
    let (mut too_wide, mut too_narrow) = (BTreeSet::new(), BTreeSet::new());
    let mut count = 0;
    for draft in ["draft4", "draft6", "draft7", "draft2019-09", "draft2020-12"] {
        for (format, text, valid) in files(&root, draft).iter().flat_map(|file| cases(file)) {
            if find(&format).is_none() {
                assert_eq!(format, "unknown", "every format of the suite is known here");
                continue;
            }
            let language = languages.entry(format.clone()).or_insert_with(|| Language::of(&format));
            match (valid, language.matches(&text)) {
                (true, false) => too_narrow.insert((format, text)),
                (false, true) => too_wide.insert((format, text)),
                _ => true,
            };
            count += 1;
        }
    }
    assert!(count > 900, "only {count} cases were found");
    assert!(too_wide.is_empty(), "invalid strings are accepted: {too_wide:#?}");
    let of = |left: &'static LeftOut| {
        assert!(!left.reason.is_empty());
        left.strings.iter().map(|text| (left.format.to_owned(), (*text).to_owned()))
    };
    let listed: BTreeSet<_> = LEFT_OUT.iter().flat_map(of).collect();
    let missing: Vec<_> = too_narrow.difference(&listed).collect();
    assert!(missing.is_empty(), "valid strings are refused and not listed: {missing:#?}");
    let done: Vec<_> = listed.difference(&too_narrow).collect();
    assert!(done.is_empty(), "strings are listed as left out, and are not: {done:#?}");
}

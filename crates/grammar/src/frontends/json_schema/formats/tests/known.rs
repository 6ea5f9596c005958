//! Strings that are in the language of a format, and strings that are not.

use super::{Language, names};

struct Known {
    format: &'static str,
    accept: &'static [&'static str],
    reject: &'static [&'static str],
}

const KNOWN: &[Known] = &[
    Known {
        format: "date",
        accept: &[
            "2024-02-29",
            "2000-02-29",
            "1600-02-29",
            "0000-02-29",
            "9996-02-29",
            "1999-12-31",
            "2023-04-30",
            "1900-02-28",
        ],
        reject: &[
            "1900-02-29",
            "2023-02-29",
            "2023-04-31",
            "2023-00-01",
            "2023-13-01",
            "2023-01-00",
            "2023-1-1",
            "23-01-01",
            "2023-01-01T",
            "",
        ],
    },
    Known {
        format: "time",
        accept: &[
            "00:00:00Z",
            "23:59:59.123456789012345678-23:59",
            "23:59:60Z",
            "23:59:60.5z",
            "23:59:60-00:00",
            "15:59:60-08:00",
            "00:59:60+01:00",
            "22:59:60+23:00",
            "00:59:60-23:00",
        ],
        reject: &[
            "24:00:00Z",
            "23:60:00Z",
            "23:59:61Z",
            "22:59:60Z",
            "15:59:60+08:00",
            "01:59:60+01:00",
            "23:59:60+24:00",
            "00:00:00.Z",
            "00:00:00",
            "00:00:00+1:00",
            "00:00:00+00",
        ],
    },
    Known {
        format: "date-time",
        accept: &[
            "2024-02-29T12:00:00Z",
            "2024-02-29t12:00:00.000z",
            "2016-12-31T23:59:60Z",
            "2015-06-30T16:59:60-07:00",
            "2017-01-01T08:59:60+09:00",
            "2015-07-01T00:59:60+01:00",
        ],
        reject: &[
            "2023-02-29T12:00:00Z",
            "2024-02-29 12:00:00Z",
            "2024-02-29T12:00:00",
            "2024-02-29T12:00Z",
            "2016-12-30T23:59:60Z",
            "2016-11-30T23:59:60Z",
            "2016-12-31T08:59:60+09:00",
            "2017-01-01T15:59:60-08:00",
            "2024-02-29T12:00:00Z ",
        ],
    },
    Known {
        format: "duration",
        accept: &["P1Y", "P1Y2M3DT4H5M6S", "PT1H", "P3W", "P1DT1S", "PT0S"],
        reject: &["", "P", "PT", "P1", "P1Y3D", "PT1H1S", "P1W1D", "P1.5D", "p1d", "P1DT", "1D"],
    },
    Known {
        format: "ipv4",
        accept: &["0.0.0.0", "255.255.255.255", "9.10.99.100", "199.200.249.250"],
        reject: &["256.0.0.0", "01.0.0.0", "1.2.3", "1.2.3.4.5", "1.2.3.", "1.2.3.260", "1.2.3.300"],
    },
    Known {
        format: "ipv6",
        accept: &[
            "::",
            "::1",
            "1::",
            "1:2:3:4:5:6:7:8",
            "1:2:3:4:5:6:7::",
            "::2:3:4:5:6:7:8",
            "1::3:4:5:6:7:8",
            "1:2:3:4:5:6:1.2.3.4",
            "::1.2.3.4",
            "::3:4:5:6:7:1.2.3.4",
            "1:2:3:4:5::1.2.3.4",
            "ABCD:ef01::",
        ],
        reject: &[
            "",
            ":",
            ":::",
            "1",
            "1:2:3:4:5:6:7",
            "1:2:3:4:5:6:7:8:9",
            "1:2:3:4:5:6:7:8::",
            "::1:2:3:4:5:6:7:8",
            "1::2::3",
            "1:2:3:4:5:6:7:1.2.3.4",
            "1:2:3:4:5:6::1.2.3.4",
            "1.2.3.4::",
            "12345::",
            "::1%eth0",
            "1:2:3:4:5:6:7:",
        ],
    },
    Known {
        format: "uuid",
        accept: &["123e4567-e89b-12d3-a456-426614174000", "FFFFFFFF-ffff-FFFF-ffff-FFFFFFFFFFFF"],
        reject: &["123e4567e89b12d3a456426614174000", "{123e4567-e89b-12d3-a456-426614174000}", ""],
    },
    Known {
        format: "json-pointer",
        accept: &["", "/", "//", "/a~0~1b", "/é\u{0}"],
        reject: &["a", "/~", "/~2", "/a~", "#/a"],
    },
    Known {
        format: "relative-json-pointer",
        accept: &["0", "10", "1#", "0/a/~0", "2/"],
        reject: &["", "01", "-1", "1a", "1##", "1#/a", "1/~"],
    },
    Known {
        format: "email",
        accept: &[
            "a@b",
            "first.last+tag@example.co.uk",
            "!#$%&'*+-/=?^_`{|}~@example.com",
            "\"a b\\\"c\\\\\"@example.com",
            "\"\"@example.com",
            "a@[1.2.3.4]",
            "a@[IPv6:1:2:3:4:5:6:7:8]",
            "a@[IPv6:::ffff:1.2.3.4]",
            "a@1st.example",
            "a@sub-domain.ex--ample.com",
            // 64 characters before the `@`.
            "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.a@example.com",
        ],
        reject: &[
            "",
            "a",
            "@b",
            "a@",
            "a b@c",
            ".a@b",
            "a.@b",
            "a..b@c",
            "a@-b.com",
            "a@b-.com",
            "a@b..com",
            "a@b.com.",
            "a@b_c.com",
            "a@xn--80ak6aa92e.com",
            "a@1.2.3.4",
            "\"a\"b@c",
            "\"a\n\"@c",
            "a@[1.2.3.256]",
            "a@[1:2:3:4:5:6:7:8]",
            "a@[IPv6:1::3:4:5:6:7:8]",
            "é@example.com",
            "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.a@example.com",
        ],
    },
    Known {
        format: "idn-email",
        accept: &["é@example.com", "用户@例子.中国", "\"é\"@bücher.de", "a@b", "δοκιμή@παράδειγμα.gr"],
        reject: &["", "é", "é@", "é@\u{301}a.com", "a@Ü.de", ".é@b", "éééééééééééééééééééééééééééééééééé@b"],
    },
    Known {
        format: "hostname",
        accept: &[
            "a",
            "localhost",
            "3com1",
            "3com",
            "example.com",
            "1.2.3.a",
            "a.b.c.d.e.f.g",
            "a.b.c.d.e.f.g.h",
            "x",
            "xn",
            "xn-a",
            "xna--b.com",
            "ab--cd",
            "r3---sn-aigl6n7e.googlevideo.com",
            "EXAMPLE.Com",
        ],
        reject: &[
            "",
            ".",
            "a.",
            ".a",
            "a..b",
            "a_b",
            "a b",
            "é",
            "-",
            "a-",
            "-a",
            "a.-b",
            "xn-",
            "xn--a",
            "XN--a",
            "a.xN--b.c",
            "123",
            "a.1",
            "1.2.3.4",
        ],
    },
    Known {
        format: "idn-hostname",
        accept: &[
            "example.com",
            "bücher.de",
            "пример.рф",
            "παράδειγμα.gr",
            "例え.テスト",
            "דוגמה.com",
            "مثال.a1",
            "हिन्दी.com",
        ],
        reject: &[
            "",
            "Bücher.de",
            "-ü",
            "ü-",
            "üü--ü",
            "דוגמהa",
            "1a.דוגמה",
            "\u{301}a",
            "a\u{200d}b",
            "ü.1",
            "αü",
            "ab--c",
            "xn--bcher-kva",
            "üüüüüüüüüüüüüüü",
        ],
    },
    Known {
        format: "uri",
        accept: &[
            "a:",
            "a:b",
            "a:/b",
            "a:/",
            "a://",
            "a://b",
            "a:///b//c",
            "http://u:p@h:80/p;x=1?q=?/#f?/",
            "http://[::1]:8080/",
            "http://[v1.a:b]",
            "urn:isbn:0451450523",
            "x:%41%2f",
            "a://:@:",
        ],
        reject: &[
            "",
            "a",
            ":b",
            "1a:b",
            "//a",
            "a:b c",
            "a:#b#c",
            "a://b:c",
            "a://[::1",
            "a://[1.2.3.4]",
            "a://[::1]b",
            "a:%4",
            "a:[b]",
            "a:é",
            "a:<b>",
        ],
    },
    Known {
        format: "uri-reference",
        accept: &["", "a", "//", "//a/b", "/a", "?q", "#f", "./a:b", "a/b:c", "a:b", "@"],
        reject: &[":a", "1:b", "a%", "\\a", "[a]", "//[", "a b", "é"],
    },
    Known {
        format: "iri",
        accept: &["http://é.com/é?é#é", "a:\u{10000}", "a:?\u{e000}"],
        reject: &[
            "é",
            "é:a",
            "a:\u{e000}",
            "a:\u{200e}",
            "a:\u{fdd0}",
            "a:\u{1fffe}",
            "a:\u{80}",
            "a:#\u{e000}",
        ],
    },
    Known {
        format: "iri-reference",
        accept: &["", "é", "/é", "//é", "é?é#é"],
        reject: &["é\\", "é:b", "\u{202e}"],
    },
    Known {
        format: "uri-template",
        accept: &["", "a", "{a}", "{+a,b:9999,c*}", "x{?q}{&r}y", "{a.b}", "é{%41}", "]'["],
        reject: &[
            "{", "}", "{}", "{a", "{a:}", "{a:0}", "{a*:1}", "{a.}", "{ a}", "{=a}", "%4", "\"", "a b", "`",
        ],
    },
    Known {
        format: "regex",
        accept: &[
            "",
            "a|b",
            "^a.*$",
            "[a-zA-Z0-9_-]+",
            "[]",
            "[^]",
            "[^-a]",
            "[-a-z-]",
            "[\\d\\-]",
            "[ -~]",
            "[!-/:-@[-`{-~]",
            "[\\x00-\\x1f]",
            "[\\u4e00-\\u9fff]",
            "[\\u0400-\\u04ff]",
            "[\\uac00-\\ud7af]",
            "[а-я]",
            "[a-ÿ]",
            "a{2}b{2,}c{2,3}?d{9,10}e{10,20}",
            "(a(?:b(c(d))))*?",
            "^(?=.*[a-z])(?!(foo|bar))(?<=x)\\bw$",
            "\\p{L}\\P{Lu}",
            "\\u00e9\\cA\\/\\.",
        ],
        reject: &[
            "(",
            ")",
            "a)",
            "(a",
            "[",
            "]",
            "{",
            "}",
            "a{1",
            "*",
            "a**",
            "a{3,2}",
            "a{10,9}",
            "a{20,19}",
            "[z-a]",
            "[\\d-z]",
            "[é-a]",
            "[я-а]",
            "[\\x1f-\\x00]",
            "[\\u00ff-\\u0000]",
            "^*",
            "(?=a)*",
            "\\",
            "\\a",
            "\\1",
            "\\k<a>",
            "(?<a>b)",
            "(?i)a",
            "(?P<a>b)",
            "(?>a)",
            "\\x1",
            "\\u12",
            "\\ud800",
            "\\p{Nope}",
            "[a",
            "(?",
        ],
    },
];

#[test]
fn known_strings() {
    for known in KNOWN {
        let language = Language::of(known.format);
        for text in known.accept {
            assert!(language.matches(text), "{} should accept {text:?}", known.format);
        }
        for text in known.reject {
            assert!(!language.matches(text), "{} should refuse {text:?}", known.format);
        }
    }
}

#[test]
fn every_format_has_known_strings() {
    for name in names() {
        assert!(KNOWN.iter().any(|known| known.format == name), "{name}");
    }
}

/// Every day from year 0 to 9999 is known by its number of days in the month.
#[test]
fn dates_are_those_of_the_calendar() {
    let language = Language::of("date");
    for year in 0..10_000 {
        let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
        for month in 1..=12 {
            let days = match month {
                2 if leap => 29,
                2 => 28,
                4 | 6 | 9 | 11 => 30,
                _ => 31,
            };
            for (day, valid) in [(0, false), (1, true), (28, true), (days, true), (days + 1, false)] {
                let text = format!("{year:04}-{month:02}-{day:02}");
                assert_eq!(language.matches(&text), valid, "{text}");
            }
        }
    }
}

/// A leap second with an offset is the last of a day in UTC, for every local time and every offset.
#[test]
fn leap_seconds_are_at_the_end_of_a_day_in_utc() {
    const MINUTES: i32 = 24 * 60;
    let language = Language::of("time");
    for local in 0..MINUTES {
        for offset in 1 - MINUTES..MINUTES {
            let (sign, size) = if offset < 0 { ('-', -offset) } else { ('+', offset) };
            let text =
                format!("{:02}:{:02}:60{sign}{:02}:{:02}", local / 60, local % 60, size / 60, size % 60);
            let at_the_end = (local - offset).rem_euclid(MINUTES) == MINUTES - 1;
            let known = at_the_end && offset % 60 == 0;
            assert_eq!(language.matches(&text), known, "{text}");
        }
    }
}

//! The bounds of host names: no name is longer than the DNS allows, in Punycode too.

use super::Language;
use crate::regular::{Dfa, StateId};

/// A small generator of numbers, the same at every run.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % sides
    }
}

/// A text of the language, by a walk that ends where it must, and seldom where it may; `None` if it is too long.
fn walk(language: &Language, dice: &mut Dice, reluctance: usize) -> Option<String> {
    let (dfa, _) = &language.parts[dice.roll(language.parts.len())];
    let (mut state, mut text): (StateId, _) = (Dfa::START, Vec::new());
    loop {
        let edges = dfa.edges(state);
        if edges.is_empty() || dfa.is_accepting(state) && dice.roll(reluctance) == 0 {
            let text = String::from_utf8(text).unwrap();
            return language.matches(&text).then_some(text);
        }
        let (low, high, next) = edges[dice.roll(edges.len())];
        text.push(low + dice.roll(usize::from(high - low) + 1) as u8);
        state = next;
    }
}

/// The length of a label as the DNS has it, by the algorithm of RFC 3492.
fn length_in_the_dns(label: &str) -> usize {
    if label.is_ascii() {
        return label.len();
    }
    let points: Vec<u32> = label.chars().map(u32::from).collect();
    let basic = points.iter().filter(|&&point| point < 128).count();
    let mut length = "xn--".len() + basic + usize::from(basic > 0);
    let (mut least, mut delta, mut bias, mut done) = (128, 0, 72, basic as u32);
    while (done as usize) < points.len() {
        let next = points.iter().copied().filter(|&point| point >= least).min().unwrap();
        delta += (next - least) * (done + 1);
        least = next;
        for &point in &points {
            if point < least {
                delta += 1;
            }
            if point == least {
                length += digits(delta, bias);
                bias = adapt(delta, done + 1, done as usize == basic);
                (delta, done) = (0, done + 1);
            }
        }
        (delta, least) = (delta + 1, least + 1);
    }
    length
}

fn digits(mut delta: u32, bias: u32) -> usize {
    let mut count = 1;
    loop {
        let threshold = (36 * count as u32).saturating_sub(bias).clamp(1, 26);
        if delta < threshold {
            return count;
        }
        delta = (delta - threshold) / (36 - threshold);
        count += 1;
    }
}

fn adapt(delta: u32, points: u32, first: bool) -> u32 {
    let mut delta = if first { delta / 700 } else { delta / 2 };
    delta += delta / points;
    let mut rounds = 0;
    while delta > 455 {
        delta /= 35;
        rounds += 36;
    }
    rounds + 36 * delta / (delta + 38)
}

#[test]
fn the_length_of_punycode_is_known() {
    for (label, length) in
        [("bücher", "xn--bcher-kva"), ("παράδειγμα", "xn--hxajbheg2az3al"), ("例え", "xn--r8jz45g")]
    {
        assert_eq!(length_in_the_dns(label), length.len(), "{label}");
    }
}

#[test]
fn names_are_as_long_as_the_dns_allows() {
    for (format, reach) in [("hostname", 240), ("idn-hostname", 150)] {
        let (language, mut dice) = (Language::of(format), Dice(1));
        let mut longest = 0;
        for text in (0..20_000).filter_map(|_| walk(&language, &mut dice, 100)) {
            let lengths = text.split('.').map(length_in_the_dns);
            assert!(lengths.clone().all(|length| (1..=63).contains(&length)), "{text}");
            let length = lengths.map(|length| length + 1).sum::<usize>() - 1;
            assert!(length <= 253, "{text}");
            longest = longest.max(length);
        }
        assert!(longest > reach, "{format}: the walks reach no long names, {longest} at most");
    }
}

#[test]
fn addresses_are_as_long_as_mail_allows() {
    for (format, reach) in [("email", 240), ("idn-email", 150)] {
        let (language, mut dice) = (Language::of(format), Dice(2));
        let mut longest = 0;
        for text in (0..20_000).filter_map(|_| walk(&language, &mut dice, 100)) {
            let at = text.rfind('@').unwrap();
            assert!((1..=64).contains(&at) && text.len() <= 254, "{text}");
            longest = longest.max(text.len());
        }
        assert!(longest > reach, "{format}: the walks reach no long addresses, {longest} at most");
    }
}

#[test]
fn labels_and_names_are_counted_to_the_last_character() {
    let host = Language::of("hostname");
    let label = |length: usize| "a".repeat(length);
    assert!(host.matches(&label(63)) && !host.matches(&label(64)));
    assert!(host.matches(&format!("{}a1", "1".repeat(61))) && !host.matches(&"1".repeat(63)));
    let name = |last: usize| [label(63), label(63), label(63), label(last)].join(".");
    assert!(host.matches(&name(61)) && !host.matches(&name(62)));
    let many = ["a"; 127].join(".");
    assert!(many.len() == 253 && host.matches(&many) && !host.matches(&format!("{many}.a")));
    let mail = Language::of("email");
    let address =
        |local: usize, last: usize| format!("{}@{}.{}.{}", label(local), label(63), label(63), label(last));
    assert!(mail.matches(&address(64, 61)) && !mail.matches(&address(64, 62)));
    assert!(mail.matches(&address(62, 63)) && !mail.matches(&address(65, 1)));
}

//! "Did you mean": the name that is nearest to one that does not exist.

/// Names longer than this are not compared: nobody mistypes them by one letter, and the cost is quadratic.
const LONGEST: usize = 64;

/// The nearest of `names`, if any is near enough to be what was meant.
pub(crate) fn nearest<'n>(name: &str, names: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    let most = (name.chars().count() / 3).max(1);
    let near = names.into_iter().filter(|other| name.len().max(other.len()) <= LONGEST);
    let rated = near.map(|other| (distance(name, other), other)).filter(|&(distance, _)| distance <= most);
    rated.min().map(|(_, other)| other)
}

/// How many letters must be changed, added, dropped to get from one name to the other, case aside.
fn distance(left: &str, right: &str) -> usize {
    let right: Vec<char> = right.to_lowercase().chars().collect();
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (at, a) in left.to_lowercase().chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = at + 1;
        for (column, &b) in right.iter().enumerate() {
            let change = diagonal + usize::from(a != b);
            diagonal = row[column + 1];
            row[column + 1] = change.min(diagonal + 1).min(row[column] + 1);
        }
    }
    row[right.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_a_slip_and_not_a_stranger() {
        let names = ["number", "string", "object"];
        assert_eq!(nearest("nubmer", names), Some("number"));
        assert_eq!(nearest("String", names), Some("string"));
        assert_eq!(nearest("whitespace", names), None);
    }
}

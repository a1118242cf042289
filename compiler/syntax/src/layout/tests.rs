use super::*;
use Token::*;

fn tokens(text: &str) -> Vec<Token> {
    Layout::new(text, 0, Content::File, Brackets::Trusted).skip(1).map(|item| item.1).collect()
}

fn errors(text: &str) -> Vec<String> {
    let mut layout = Layout::new(text, 0, Content::File, Brackets::Mistrusted);
    layout.by_ref().for_each(drop);
    layout.into_reports().0.into_iter().map(|error| format!("{} at {}", error.message, error.span().start)).collect()
}

#[test]
fn blocks_pair_up() {
    let text = "if a:\n    if b:\n\n        c\n  # comment\nd\n";
    let expected = [If, Name, Colon, Newline, Indent, If, Name, Colon, Newline, Indent, Name, Newline, Dedent, Dedent];
    assert_eq!(tokens(text), [&expected[..], &[Name, Newline]].concat());
    assert_eq!(tokens("if a:\n  b"), [If, Name, Colon, Newline, Indent, Name, Newline, Dedent]);
}

#[test]
fn brackets_continuations_and_line_ends() {
    assert_eq!(tokens("f(\n  a,\n\n# c\n)\nb\n").len(), 8);
    assert_eq!(tokens("a = \\\n  b\n"), [Name, Assign, Name, Newline]);
    assert_eq!(tokens("\u{feff}a\r\nb\rc\n"), [Name, Newline, Name, Newline, Name, Newline]);
    assert_eq!(tokens(" \n\t\n# only\n"), []);
}

#[test]
fn tabs_reach_to_multiples_of_eight() {
    assert_eq!(errors("if a:\n\tb\n\tc\n"), [] as [&str; 0]);
    assert_eq!(errors("if a:\n        b\n\tc\n").len(), 1);
    assert_eq!(errors("if a:\n \tb\n\tc\n").len(), 1);
}

#[test]
fn a_line_between_levels_is_reported_once() {
    let text = "if a:\n        b\n    c\n    d\ne\n";
    assert_eq!(errors(text), ["this line ends a block, but is not in line with any block around it at 16"]);
    assert_eq!(tokens(text).iter().filter(|token| **token == Dedent).count(), 1);
}

#[test]
fn an_unclosed_bracket_ends_at_the_next_statement() {
    assert_eq!(errors("x = f(a,\ny = 1\n"), ["`(` was never closed at 5"]);
    assert_eq!(errors("def f(a\n    return a\n"), ["`(` was never closed at 5"]);
    assert_eq!(errors("x = [(1, 2]\n"), ["`(` was never closed at 5"]);
    assert_eq!(errors("x = [1)\n"), ["`)` does not close `[` at 6"]);
    assert_eq!(errors("x = 1)\n"), ["`)` closes nothing at 5"]);
    assert_eq!(errors("f(\na == b)\n"), [] as [&str; 0]);
}

#[test]
fn lines_that_look_like_statements_may_stand_in_brackets() {
    let mut layout = Layout::new("f(\na=1,\nb=[\nx\nfor x in y\n])\n", 0, Content::File, Brackets::Trusted);
    assert_eq!(layout.by_ref().filter(|item| item.1 == Newline).count(), 1);
    assert!(!layout.unbalanced());
}

#[test]
fn nesting_is_limited() {
    let deep = format!("{}{}\nb\n", "(".repeat(100_000), ")".repeat(100_000));
    assert_eq!(errors(&deep), ["brackets are nested deeper than 200 levels at 200"]);
    let open = "[".repeat(100_000);
    assert_eq!(errors(&open)[0], "brackets are nested deeper than 200 levels at 200");
    let blocks: String = (0..10_000).map(|level| format!("{}if a:\n", " ".repeat(level))).collect();
    let reports = errors(&blocks);
    assert_eq!(reports.len(), 1);
    assert!(reports[0].starts_with("blocks are nested deeper than 200 levels"));
}

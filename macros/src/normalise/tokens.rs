//! Questions about a list of tokens: is there a call, an attribute, a block here, and does a statement start or end?

use proc_macro2::{Delimiter, Group, Ident, Punct, Spacing, TokenStream, TokenTree};

/// `stream ! ( .. )`, with any brackets.
pub(crate) struct Call {
    pub(crate) name: Ident,
    pub(crate) arguments: Group,
}

/// Does a call of `stream!` start at `at`?
pub(crate) fn is_call(list: &[TokenTree], at: usize) -> bool {
    match list.get(at..at + 3) {
        // The name last: to compare it, it is printed.
        Some([TokenTree::Ident(name), TokenTree::Punct(bang), TokenTree::Group(arguments)]) => {
            bang.as_char() == '!' && arguments.delimiter() != Delimiter::None && name == "stream"
        }
        _ => false,
    }
}

/// The call of `stream!` whose name is at `at`.
pub(crate) fn call_at(list: &[TokenTree], at: usize) -> Option<Call> {
    match &list.get(at..at + 3)? {
        [TokenTree::Ident(name), _, TokenTree::Group(arguments)] if is_call(list, at) => {
            Some(Call { name: name.clone(), arguments: arguments.clone() })
        }
        _ => None,
    }
}

/// `# [ path::name ( .. ) ]`.
pub(crate) struct Attribute {
    pub(crate) name: Ident,
    pub(crate) arguments: Option<Group>,
}

/// The attribute that starts at `at`.
pub(crate) fn attribute_at(list: &[TokenTree], at: usize) -> Option<Attribute> {
    let [TokenTree::Punct(hash), TokenTree::Group(brackets)] = list.get(at..at + 2)? else { return None };
    if hash.as_char() != '#' || brackets.delimiter() != Delimiter::Bracket {
        return None;
    }
    let (mut name, mut arguments) = (None, None);
    for token in brackets.stream() {
        match token {
            TokenTree::Ident(segment) => name = Some(segment),
            TokenTree::Punct(colon) if colon.as_char() == ':' => {}
            TokenTree::Group(group) if group.delimiter() == Delimiter::Parenthesis => {
                arguments = Some(group);
                break;
            }
            _ => break,
        }
    }
    Some(Attribute { name: name?, arguments })
}

/// The first index from `at` on that is not part of an attribute.
pub(crate) fn attribute_run(list: &[TokenTree], mut at: usize) -> usize {
    while attribute_at(list, at).is_some() {
        at += 2;
    }
    at
}

/// Where the path starts that ends in the name at `at`.
pub(crate) fn path_start(list: &[TokenTree], mut at: usize) -> usize {
    let colon = |i: usize| is_punct(list.get(i), ':');
    while at >= 2 && colon(at - 1) && colon(at - 2) {
        at -= 2;
        if at >= 1 && matches!(list[at - 1], TokenTree::Ident(_)) {
            at -= 1;
        }
    }
    at
}

/// Where the call at `at` starts, its path and attributes included.
pub(crate) fn call_start(list: &[TokenTree], at: usize) -> usize {
    attributes_start(list, path_start(list, at))
}

/// Where the attributes start that end just before `start`. One that makes a block of its own does not belong to it.
pub(crate) fn attributes_start(list: &[TokenTree], mut start: usize) -> usize {
    while start >= 2 && attribute_at(list, start - 2).is_some_and(|attribute| attribute.name != "stream") {
        start -= 2;
    }
    start
}

/// The block a token is, also when a `macro_rules!` fragment has put it into an invisible group.
pub(crate) fn as_block(token: Option<&TokenTree>) -> Option<Group> {
    let Some(TokenTree::Group(group)) = token else { return None };
    match group.delimiter() {
        Delimiter::Brace => Some(group.clone()),
        Delimiter::None => {
            let mut inner = group.stream().into_iter();
            let only = inner.next();
            if inner.next().is_none() { as_block(only.as_ref()) } else { None }
        }
        _ => None,
    }
}

/// Is the token a block, in the sense of [`as_block`]?
pub(crate) fn is_block(token: &TokenTree) -> bool {
    matches!(token, TokenTree::Group(group) if group.delimiter() == Delimiter::Brace) || as_block(Some(token)).is_some()
}

/// Is this token the punctuation character `which`?
pub(crate) fn is_punct(token: Option<&TokenTree>, which: char) -> bool {
    matches!(token, Some(TokenTree::Punct(punct)) if punct.as_char() == which)
}

pub(crate) fn without_trailing_comma(tokens: TokenStream) -> Vec<TokenTree> {
    let mut list: Vec<TokenTree> = tokens.into_iter().collect();
    if is_punct(list.last(), ',') {
        list.pop();
    }
    list
}

/// What must be put at `end` so that an expression which started at `start` ends there, as it did when its block ended
/// it: `;`, or `,` in a match arm.
pub(crate) fn separator(list: &[TokenTree], start: usize, end: usize, delimiter: Delimiter) -> Option<TokenTree> {
    let next = list.get(end)?;
    let arm = is_arrow_end(list, start);
    let continues = match next {
        TokenTree::Punct(punct) => match punct.as_char() {
            ';' | ',' | '.' | '?' | '=' | '>' | '+' | '/' | '%' | '^' => true,
            '#' | '\'' => false,
            // `*`, `&`, `-`, `|`, `<` and `!` may begin the next statement as well.
            _ => !arm && !starts_statement(list, start, delimiter),
        },
        TokenTree::Ident(word) => word == "else" || word == "as",
        TokenTree::Group(_) | TokenTree::Literal(_) => false,
    };
    let mut separator = Punct::new(if arm { ',' } else { ';' }, Spacing::Alone);
    separator.set_span(next.span());
    (!continues).then(|| separator.into())
}

/// Does `=>` end just before `at`?
fn is_arrow_end(list: &[TokenTree], at: usize) -> bool {
    at >= 2 && is_punct(list.get(at - 1), '>') && is_joint(&list[at - 2], '=')
}

/// Is this `which`, glued to the punctuation after it?
pub(crate) fn is_joint(token: &TokenTree, which: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == which && punct.spacing() == Spacing::Joint)
}

pub(crate) fn starts_statement(list: &[TokenTree], start: usize, delimiter: Delimiter) -> bool {
    match start.checked_sub(1).and_then(|before| list.get(before)) {
        None => delimiter == Delimiter::Brace,
        Some(TokenTree::Punct(before)) => matches!(before.as_char(), ';' | '<'),
        before => as_block(before).is_some(),
    }
}

//! Half-typed functions: what the macro puts out must parse, and have every name of the author's in it, where it was.

use std::collections::BTreeMap;

use proc_macro2::{Group, LineColumn, TokenStream, TokenTree};
use syn::File;

use crate::testing::{compact, tokens};

/// What `#[multicore]` makes of it, `compile_error!` left out.
fn expanded(args: &str, item: TokenStream) -> TokenStream {
    crate::expand(tokens(args), item)
}

/// How often each name stands at each place.
fn names(tokens: TokenStream, found: &mut BTreeMap<((usize, usize), String), usize>) {
    for token in tokens {
        match token {
            TokenTree::Group(group) => names(group.stream(), found),
            TokenTree::Ident(name) => {
                let LineColumn { line, column } = name.span().start();
                *found.entry(((line, column), name.to_string())).or_default() += 1;
            }
            _ => {}
        }
    }
}

/// The names of `item` that are not at their place in `output`. Words of the language need not stay, nor what says that
/// a block is one.
fn lost(item: &TokenStream, output: &TokenStream) -> Vec<String> {
    const SPELLING: [&str; 9] = ["stream", "multicore", "main", "cores", "cube", "vector", "after", "reads", "writes"];
    let (mut before, mut after) = (BTreeMap::new(), BTreeMap::new());
    names(item.clone(), &mut before);
    names(output.clone(), &mut after);
    let lost = before.into_keys().filter(|name| !after.contains_key(name) && !SPELLING.contains(&name.1.as_str()));
    lost.map(|((line, column), name)| format!("{line}:{column} {name}")).collect()
}

/// The first `count` tokens, brackets counted, with what is open closed.
fn prefix(tokens: TokenStream, count: &mut usize) -> TokenStream {
    let mut taken = TokenStream::new();
    for token in tokens {
        if *count == 0 {
            break;
        }
        *count -= 1;
        taken.extend([match token {
            TokenTree::Group(group) => {
                let mut cut = Group::new(group.delimiter(), prefix(group.stream(), count));
                cut.set_span(group.span());
                cut.into()
            }
            other => other,
        }]);
    }
    taken
}

fn size(tokens: TokenStream) -> usize {
    let sizes = tokens.into_iter().map(|token| match token {
        TokenTree::Group(group) => 1 + size(group.stream()),
        _ => 1,
    });
    sizes.sum()
}

const FUNCTION: &str = "/// Documented.
pub fn slices(&self, x: &Tensor, ep: &Communicator, streams: &[Stream]) -> Result<Vec<Tensor>> {
    let mut outs = Vec::with_capacity(streams.len());
    let scale: f32 = if x.shape()[0] > 4 { 0.5 } else { -1.0 };
    for (i, stream_of) in streams.iter().enumerate() {
        let routed = stream!(stream_of, cores(cube = self.split.cube, vector = 8), {
            let logits = x.matmul(&self.gate)?;
            logits.softmax()?.scale(scale)?
        });
        #[stream(comm)]
        let recv = { ep.all_to_all(&routed)? };
        match i % 2 {
            0 => outs.push(recv),
            _ if i > 3 => stream!(main, { outs.push(Shape { rows: i, ..recv.layout() }); }),
            _ => { stream!(&streams[0] < outs.push(recv.add(&routed)?); >); }
        }
    }
    while let Some(last) = outs.pop() {
        let Ok(sum) = last.sum(0).map(|sum| sum.scale(2.0)) else { continue };
        println!(\"{}\", sum?.len());
    }
    Ok(outs)
}";

#[test]
fn every_prefix_of_a_function() {
    let whole = tokens(FUNCTION);
    let head = size(whole.clone().into_iter().take_while(|token| !token.to_string().starts_with('{')).collect());
    let all = size(whole.clone());
    assert!(all - head > 200, "{}", all - head);
    for count in 0..=all {
        let item = prefix(whole.clone(), &mut { count });
        let output = expanded("streams(comm)", item.clone());
        // Without a body there is nothing that the macro could hide.
        if count > head {
            let text = output.to_string();
            let parsed = syn::parse2::<File>(output.clone()).unwrap_or_else(|error| panic!("{error}: {item}\n{text}"));
            let functions = parsed.items.iter().filter(|item| matches!(item, syn::Item::Fn(_))).count();
            assert_eq!(functions, 1, "{text}");
        }
        assert_eq!(lost(&item, &output), [""; 0], "{item}\n{output}");
    }
}

/// What is typed, and what of it must be in the output as it is.
const HALVES: &[(&str, &str)] = &[
    ("x.", "x . __unfinished"),
    ("let y =", "let y = :: core :: unreachable ! ()"),
    ("let y", "let y"),
    ("let y = x.ma", "let y = x . ma"),
    ("let y: ", "let y :"),
    ("x.matmul(", "x . matmul ()"),
    ("x.matmul(&", "x . matmul (& :: core :: unreachable ! ())"),
    ("x.matmul(&x.", "x . matmul (& x . __unfinished)"),
    ("f(x, x.", "f (x , x . __unfinished)"),
    ("let y = stream!(a, { x.", "{ let _ = & (a) ; x . __unfinished }"),
    ("let y = stream!(a, cores(cube = n.", "n . __unfinished"),
    ("let y = stream!(a, cores(cube = n.len(), vec", "n . len ()"),
    ("let y = stream!(a, after(", "let _ = & (a)"),
    ("let y = stream!(a.", "a . __unfinished"),
    ("let y = stream!(a, x.", "let _ = & (a)"),
    ("let y = stream!(", "let y ="),
    ("stream!({ x.silu()?.", "x . silu () ? . __unfinished"),
    ("stream!(, { x.silu()? })", "x . silu () ?"),
    ("#[stream(a)] { x.", "x . __unfinished"),
    ("#[stream(a)] let y = { x.", "x . __unfinished"),
    ("stream!(a < x.", "x . __unfinished"),
    ("stream!(a, { f(stream!(b, { x.", "x . __unfinished"),
    ("if x.len() > 3", "if x . len () > 3"),
    ("for i in x.", "for i in x . __unfinished"),
    ("match x.", "match x . __unfinished"),
    ("x +", "x +"),
    ("return x.", "return x . __unfinished"),
    ("let y = |z| z.", "| z | z . __unfinished"),
    ("let y = [x, x.", "[x , x . __unfinished]"),
    ("let y = ; x.silu()?;", "x . silu () ? ;"),
    ("x. ; let z = stream!(a, { x.silu()? });", "let z = { let _ = & (a) ; x . silu () ? } ;"),
];

#[test]
fn a_statement_that_breaks_off() {
    for (typed, kept) in HALVES {
        // Open brackets are closed, as rustc and editors do.
        let mut closers: Vec<char> = Vec::new();
        for c in typed.chars() {
            match c {
                '(' => closers.push(')'),
                '[' => closers.push(']'),
                '{' => closers.push('}'),
                ')' | ']' | '}' => _ = closers.pop(),
                _ => {}
            }
        }
        let closed: String = typed.chars().chain(closers.into_iter().rev()).collect();
        let item = tokens(&format!("fn f(a: &Stream, b: &Stream, x: &Tensor) -> Result<()> {{ {closed} }}"));
        let output = expanded("", item.clone());
        syn::parse2::<File>(output.clone()).unwrap_or_else(|error| panic!("{error}: {typed}\n{output}"));
        assert_eq!(lost(&item, &output), [""; 0], "{typed}\n{output}");
        assert!(compact(&output).contains(&compact(&tokens(kept))), "{typed}\n{output}");
    }
}

#[test]
fn the_card_form_half_typed() {
    let item =
        tokens("pub fn f(a: &Stream, x: &Tensor) -> Result<Tensor> { let y = stream!(a, cores(cube = 2)) < x. }");
    let output = crate::wrapper::expand(item.clone());
    syn::parse2::<File>(output.clone()).unwrap_or_else(|error| panic!("{error}\n{output}"));
    assert_eq!(lost(&item, &output), [""; 0], "{output}");
}

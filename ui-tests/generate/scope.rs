//! What is in scope, and what the borrow checker lets a program do with it.

/// What a variable is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// `Tensor`
    Tensor,
    /// `&Tensor`
    Shared,
    /// `&mut Tensor`
    Exclusive,
    /// `Vec<Tensor>`, perhaps empty.
    List,
    /// `Vec<Tensor>` of at least two.
    Filled,
    /// `Option<Tensor>`
    Maybe,
    /// `Pair`, with the fields `left` and `right`.
    Pair,
    /// `State`, with the fields `k` and `v`.
    State,
}

impl Kind {
    fn fields(self) -> &'static [&'static str] {
        match self {
            Kind::Pair => &["left", "right"],
            Kind::State => &["k", "v"],
            _ => &[],
        }
    }
}

/// What a borrow that is alive leaves of a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Frozen {
    No,
    /// May be read.
    Shared,
    /// May not be touched, or has been moved.
    Gone,
}

#[derive(Clone, Debug)]
pub(crate) struct Variable {
    pub(crate) name: String,
    pub(crate) kind: Kind,
    /// `mut`, or behind `&mut`.
    pub(crate) mutable: bool,
    /// Launched by this function: there is something to come after.
    pub(crate) produced: bool,
    pub(crate) frozen: Frozen,
    /// How many loops lie around its declaration: in a deeper one it cannot be moved.
    pub(crate) loops: usize,
}

/// An expression of type `Tensor` that names a place.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    /// The variable.
    pub(crate) root: usize,
    pub(crate) field: Option<&'static str>,
    pub(crate) expr: String,
    pub(crate) mutable: bool,
}

impl Place {
    pub(crate) fn overlaps(&self, other: &Place) -> bool {
        self.root == other.root && (self.field.is_none() || other.field.is_none() || self.field == other.field)
    }

    pub(crate) fn read(&self) -> String {
        format!("&{}", self.expr)
    }

    pub(crate) fn write(&self) -> String {
        format!("&mut {}", self.expr)
    }
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Scope(pub(crate) Vec<Variable>);

impl Scope {
    fn visible(&self) -> impl Iterator<Item = (usize, &Variable)> {
        let hidden = |i: usize| self.0[i + 1..].iter().any(|later| later.name == self.0[i].name);
        self.0.iter().enumerate().filter(move |(i, v)| !hidden(*i) && v.frozen != Frozen::Gone)
    }

    /// The variables of some kinds that may be read, or written.
    pub(crate) fn of(&self, kinds: &[Kind], mutable: bool) -> Vec<usize> {
        let fits = |v: &Variable| kinds.contains(&v.kind) && (!mutable || v.mutable && v.frozen == Frozen::No);
        self.visible().filter(|(_, v)| fits(v)).map(|(i, _)| i).collect()
    }

    /// The variables that may be moved out of inside `loops` loops.
    pub(crate) fn movable(&self, kind: Kind, loops: usize) -> Vec<usize> {
        let fits = |v: &Variable| v.kind == kind && v.frozen == Frozen::No && v.loops == loops;
        self.visible().filter(|(_, v)| fits(v)).map(|(i, _)| i).collect()
    }

    pub(crate) fn places(&self, mutable: bool) -> Vec<Place> {
        let mut places = Vec::new();
        for (root, v) in self.visible().filter(|(_, v)| !mutable || v.mutable && v.frozen == Frozen::No) {
            let mut add = |field, expr| places.push(Place { root, field, expr, mutable: v.mutable });
            match v.kind {
                Kind::Tensor => add(None, v.name.clone()),
                Kind::Shared | Kind::Exclusive => add(None, format!("*{}", v.name)),
                Kind::Filled => add(None, format!("{}[1]", v.name)),
                Kind::Pair | Kind::State => {
                    v.kind.fields().iter().for_each(|field| add(Some(*field), format!("{}.{field}", v.name)));
                }
                Kind::List | Kind::Maybe => {}
            }
        }
        places
    }
}

//! What ordered the streams of a device while it was traced.
//!
//! In: every record and every wait at the moment that it is made, by whom and for which lines of the source. Out: rows of
//! a trace, in which each wait has the number of its record, with times that follow from the launches around. Nothing is
//! noted, and nothing costs more than a look at a flag where a wait is made, while the device is not traced.

use std::borrow::Cow;
use std::collections::HashMap;
use std::panic::Location;

use multicore_timeline::{Origin, Site, Sync, SyncKind, Via};

use smallvec::SmallVec;

use crate::ledger::Mark;
use crate::plan::Plan;

/// Records and waits that were made and are not in a trace yet.
#[derive(Default)]
pub(crate) struct Syncs {
    /// The device is traced.
    pub(crate) on: bool,
    /// The device's clock when the host makes what is noted next, if it has one for that.
    pub(crate) now: Option<u64>,
    /// Waits that a plan was the reason for, until the function says which of its sites; true for those that were made
    /// whether or not data was touched.
    pub(crate) planned: SmallVec<[(Mark, bool); 2]>,
    events: u64,
    made: Vec<Made>,
}

/// A record or a wait.
struct Made {
    origin: Origin,
    site: Option<Site>,
    event: Option<u64>,
    stream: u32,
    /// For a record, everything up to here. For a wait, what carries it.
    position: u64,
    /// For a wait, what it waits for; `None` on another device.
    wait: Option<Option<Mark>>,
    /// When the host made it.
    at: Option<u64>,
}

/// Who made a wait, and where.
pub(crate) struct Reason {
    pub(crate) origin: Origin,
    /// The number of the record.
    pub(crate) event: Option<u64>,
    pub(crate) site: Option<Site>,
}

impl Syncs {
    /// A record of all up to `mark`. Gives the number of the event.
    pub(crate) fn record(&mut self, mark: Mark, origin: Origin, site: Option<Site>) -> u64 {
        self.events += 1;
        let Mark { stream, position } = mark;
        self.made.push(Made { origin, site, event: Some(self.events), stream, position, wait: None, at: self.now });
        self.events
    }

    /// A wait of `stream` for `of`, which position `carrier` of the stream carries. It replaces one of the same carrier for
    /// an earlier position, as it does in the ledger.
    pub(crate) fn wait(&mut self, carrier: Mark, of: Option<Mark>, reason: Reason) {
        let Reason { origin, event, site } = reason;
        let Mark { stream, position } = carrier;
        let made = Made { origin, site, event, stream, position, wait: Some(of), at: self.now };
        let of_stream = |of: Option<Option<Mark>>| of.flatten().map(|mark| mark.stream);
        let same = |known: &&mut Made| {
            known.stream == stream
                && known.position == position
                && of.is_some()
                && of_stream(known.wait) == of_stream(made.wait)
        };
        // Those of one carrier are next to each other or nearly so.
        match self.made.iter_mut().rev().take(64).find(same) {
            Some(known) => *known = made,
            None => self.made.push(made),
        }
    }

    /// Takes what the device has come to, as rows. `reached` gives for each stream how far it is, and `issued` how far it
    /// will be; `launches` are those that the device has finished.
    pub(crate) fn take(
        &mut self,
        launches: &Launches,
        reached: impl Fn(u32) -> u64,
        issued: impl Fn(u32) -> u64,
    ) -> Vec<Sync> {
        let is_done = |made: &Made| match made.wait {
            // Nothing may ever carry the last wait of a stream.
            Some(of) => {
                (reached(made.stream) >= made.position || issued(made.stream) < made.position)
                    && of.is_none_or(|of| reached(of.stream) >= of.position)
            }
            None => reached(made.stream) >= made.position,
        };
        let (done, rest) = std::mem::take(&mut self.made).into_iter().partition(is_done);
        self.made = rest;
        let mut rows: Vec<Sync> = Vec::from_iter(done).into_iter().map(|made: Made| made.row(launches)).collect();
        rows.sort_by_key(|row| (row.start_ns, row.kind));
        rows
    }
}

impl Made {
    fn row(self, launches: &Launches) -> Sync {
        let Made { origin, site, event, stream, position, wait, at } = self;
        let (kind, before) = match wait {
            Some(_) => (SyncKind::Wait, position.saturating_sub(1)),
            None => (SyncKind::Record, position),
        };
        let of = wait.flatten();
        let released = of.and_then(|of| launches.end_of(of));
        // A stream is there when it has done what came before, and when the host has said so.
        let came = launches.end_of(Mark { stream, position: before }).max(at.filter(|_| wait.is_some())).or(at);
        let start_ns = came.or(released).unwrap_or(0);
        Sync {
            kind,
            via: Via::Event,
            origin,
            device_id: 0,
            stream_id: stream,
            start_ns,
            duration_ns: released.map_or(0, |released| released.saturating_sub(start_ns)),
            event,
            task: None,
            of_stream: of.map(|of| of.stream),
            site,
        }
    }
}

/// When the launches of each stream ended.
#[derive(Default)]
pub(crate) struct Launches(HashMap<u32, Vec<(u64, u64)>>);

impl Launches {
    /// A launch at `mark` ended at `end`.
    pub(crate) fn add(&mut self, mark: Mark, end: u64) {
        let ends = self.0.entry(mark.stream).or_default();
        let at = ends.partition_point(|&(position, _)| position < mark.position);
        ends.insert(at, (mark.position, end));
    }

    /// When the last launch up to `mark` ended.
    fn end_of(&self, mark: Mark) -> Option<u64> {
        let ends = self.0.get(&mark.stream)?;
        let after = ends.partition_point(|&(position, _)| position <= mark.position);
        ends[..after].last().map(|&(_, end)| end)
    }

    /// Forgets all but the last launch of each stream.
    pub(crate) fn keep_last(&mut self) {
        self.0.values_mut().for_each(|ends| drop(ends.drain(..ends.len().saturating_sub(1))));
    }
}

/// A line of a call.
pub(crate) fn site_of_call(at: &'static Location<'static>) -> Site {
    Site {
        function: Cow::Borrowed(""),
        file: Cow::Borrowed(at.file()),
        line: at.line(),
        variables: Cow::Borrowed(""),
        index: 0,
    }
}

/// The entry or the exit of a function.
pub(crate) fn site_of_function(plan: &'static Plan) -> Site {
    Site { line: plan.line, variables: Cow::Borrowed(""), ..site_in(plan, 0) }
}

fn site_in(plan: &'static Plan, index: u32) -> Site {
    Site {
        function: Cow::Borrowed(plan.function),
        file: Cow::Borrowed(plan.file),
        line: 0,
        variables: Cow::Borrowed(""),
        index,
    }
}

/// Which sites of its plan a function has come to.
#[derive(Default)]
pub(crate) struct Sites {
    noted: Vec<Noted>,
    /// The records that stand for a position, with their numbers and events.
    recorded: HashMap<Mark, Vec<(u32, u64)>>,
    /// Events for what was there at the function's entry.
    entry: HashMap<Mark, u64>,
    /// The event of the last record of each stream, and its position.
    last: HashMap<u32, (u64, u64)>,
}

/// Something that a stream is to come after, as the plan says.
#[derive(Clone)]
struct Noted {
    /// `None` for every stream of the function.
    stream: Option<u32>,
    mark: Mark,
    plan: &'static Plan,
    wait: u32,
    event: Option<u64>,
}

impl Sites {
    /// What a function inherits from the one around it, whose `main` is here `stream`.
    pub(crate) fn inherit(&self, stream: u32) -> Sites {
        let noted = self.noted.iter().filter(|noted| noted.stream.is_none_or(|on| on == stream));
        let noted = noted.map(|noted| Noted { stream: None, ..noted.clone() });
        Sites { noted: noted.collect(), ..Sites::default() }
    }

    /// The function comes to record `number` after `own`, which stands for `marks`. It is the last one again if nothing was
    /// issued since then.
    pub(crate) fn record(&mut self, plan: &'static Plan, number: u32, own: Mark, marks: &[Mark], syncs: &mut Syncs) {
        let event = self.event_at(own).unwrap_or_else(|| {
            let site = plan.records.get(number as usize).map(|record| Site {
                line: record.line,
                variables: match record.variables {
                    [one] => Cow::Borrowed(*one),
                    several => Cow::Owned(several.join(", ")),
                },
                ..site_in(plan, number)
            });
            syncs.record(own, Origin::Plan, site)
        });
        self.last.insert(own.stream, (event, own.position));
        for mark in marks {
            self.recorded.entry(*mark).or_default().push((number, event));
        }
    }

    /// The last record of the stream, if it has `own` for its position.
    pub(crate) fn event_at(&self, own: Mark) -> Option<u64> {
        self.last.get(&own.stream).filter(|(_, position)| *position == own.position).map(|&(event, _)| event)
    }

    /// The function comes to wait `number` on `stream`, for `mark`.
    pub(crate) fn wait(&mut self, plan: &'static Plan, number: u32, stream: u32, mark: Mark) {
        let records = plan.waits.get(number as usize).map_or(&[][..], |wait| wait.records);
        let known = self.recorded.get(&mark).map_or(&[][..], |known| &known[..]);
        let named = known.iter().rev().find(|(record, _)| records.contains(record)).or(known.last());
        let noted = Noted { stream: Some(stream), mark, plan, wait: number, event: named.map(|&(_, event)| event) };
        let same = |other: &&mut Noted| {
            (other.stream, other.wait, other.mark.stream) == (noted.stream, number, mark.stream)
                && std::ptr::eq(other.plan, plan)
        };
        match self.noted.iter_mut().find(same) {
            Some(other) => *other = noted,
            None => self.noted.push(noted),
        }
    }

    /// The wait that made `stream` wait for `mark` because data was touched. `implies` says whether what the first comes
    /// after includes the second.
    pub(crate) fn expected(&self, stream: u32, mark: Mark, implies: impl Fn(Mark, Mark) -> bool) -> Option<Reason> {
        let of_stream =
            self.on(stream).filter(|noted| noted.mark.stream == mark.stream && noted.mark.position >= mark.position);
        let nearest = of_stream.min_by_key(|noted| noted.mark.position);
        nearest.or_else(|| self.on(stream).rev().find(|noted| implies(noted.mark, mark))).map(Noted::reason)
    }

    /// The wait that made `stream` wait for `mark` in any case.
    pub(crate) fn awaited(&self, stream: u32, mark: Mark) -> Option<Reason> {
        self.on(stream).rev().find(|noted| noted.mark == mark).map(Noted::reason)
    }

    /// The function's entry, as the reason to wait for `mark`.
    pub(crate) fn entered(&mut self, plan: &'static Plan, mark: Mark, syncs: &mut Syncs) -> Reason {
        let site = site_of_function(plan);
        let event = self.entry.entry(mark);
        let event = *event.or_insert_with(|| syncs.record(mark, Origin::Function, Some(site.clone())));
        Reason { origin: Origin::Function, event: Some(event), site: Some(site) }
    }

    fn on(&self, stream: u32) -> impl DoubleEndedIterator<Item = &Noted> {
        self.noted.iter().filter(move |noted| noted.stream.is_none_or(|on| on == stream))
    }
}

impl Noted {
    fn reason(&self) -> Reason {
        let site = self.plan.waits.get(self.wait as usize).map(|wait| Site {
            line: wait.line,
            variables: Cow::Borrowed(wait.variable),
            ..site_in(self.plan, self.wait)
        });
        Reason { origin: Origin::Plan, event: self.event, site }
    }
}

use super::*;

const US: Ps = 1_000_000;

#[derive(Clone)]
struct Op {
    ask: Ask,
    /// Core time: shared by the cores it gets.
    work: Ps,
    demands: Demands,
    heavy: bool,
}

impl Job for Op {
    fn ask(&self) -> Option<Ask> {
        Some(self.ask)
    }
    fn body(&self, cores: Cores) -> Body {
        let cores = u64::from(cores.cube.max(cores.vector).max(1));
        Body { head: 0, work: self.work / cores, demands: self.demands.clone(), heavy: self.heavy }
    }
}

fn op(cube: u32, vector: u32, us: u64) -> Op {
    let ask = Ask { device: 0, cores: Cores { cube, vector }, resident: false, meeting: None };
    let work = us * US * u64::from(cube.max(vector).max(1));
    Op { ask, work, demands: Demands::new(), heavy: false }
}

#[derive(Default)]
struct Times(Vec<(Mark, Ps, Ps)>);

impl Watch<Op> for Times {
    fn start(&mut self, now: Ps, at: Mark, _: &mut Op) {
        self.0.push((at, now, 0));
    }
    fn end(&mut self, now: Ps, at: Mark, _: Op) {
        self.0.iter_mut().filter(|(mark, ..)| *mark == at).for_each(|t| t.2 = now);
    }
}

impl Times {
    fn of(&self, stream: u32, position: u64) -> (u64, u64) {
        let found = self.0.iter().find(|(at, ..)| *at == Mark { stream, position }).unwrap();
        (found.1 / US, found.2 / US)
    }
}

fn chip(cube: u32, vector: u32) -> Vec<Cores> {
    vec![Cores { cube, vector }]
}

fn run(engine: &mut Engine<Op>) -> Times {
    let mut times = Times::default();
    assert_eq!(engine.advance(Goal::Idle, &mut times), Stop::Reached);
    times
}

/// hicann/cann-recipes-infer, multi_stream_principles.md: 110 us without the event, 100 us with it.
#[test]
fn the_two_stream_toy() {
    for (event, expected) in [(false, 110), (true, 100)] {
        let mut engine = Engine::new(chip(1, 1), vec![], 1.0);
        let cube = |us| op(1, 0, us);
        let vector = |us| op(0, 1, us);
        // Without the event, the long vector operator of the second stream starts first.
        let (first, second) = (0, 1);
        if !event {
            engine.push(second, 0, [], vector(30));
        }
        engine.push(first, 0, [], vector(20));
        engine.push(first, 0, [], cube(40));
        engine.push(first, 0, [], vector(20));
        if event {
            engine.push(second, 0, [Mark { stream: first, position: 1 }], vector(30));
        }
        engine.push(second, 0, [], cube(20));
        engine.push(second, 0, [], vector(20));
        run(&mut engine);
        assert_eq!(engine.now(), expected * US, "with the event: {event}");
    }
}

#[test]
fn cores_are_exclusive_and_what_is_short_of_cores_takes_more() {
    let mut engine = Engine::new(chip(24, 48), vec![], 1.0);
    engine.push(0, 0, [], op(16, 0, 30));
    engine.push(1, 0, [], op(24, 0, 20));
    let times = run(&mut engine);
    assert_eq!(times.of(0, 1), (0, 30));
    // 8 cores for 30 us do 240 of 480 core-us; 24 cores do the rest in 10 us.
    assert_eq!(times.of(1, 1), (0, 40));
}

#[test]
fn who_needs_all_its_blocks_at_once_waits_for_them() {
    let mut engine = Engine::new(chip(24, 48), vec![], 1.0);
    engine.push(0, 0, [], op(16, 0, 30));
    let mut all = op(24, 0, 20);
    all.ask.resident = true;
    engine.push(1, 0, [], all);
    engine.push(2, 0, [], op(8, 0, 10));
    let times = run(&mut engine);
    assert_eq!(times.of(1, 1), (30, 50));
    assert_eq!(times.of(2, 1), (0, 10), "who can start passes");
}

#[test]
fn the_host_issues_one_after_another() {
    let mut engine = Engine::new(chip(24, 48), vec![], 1.0);
    engine.push(0, 5 * US, [], op(24, 0, 20));
    engine.push(1, 60 * US, [], op(0, 48, 20));
    let times = run(&mut engine);
    assert_eq!((times.of(0, 1), times.of(1, 1)), ((5, 25), (60, 80)));
}

#[test]
fn two_that_want_the_whole_bandwidth_take_twice_as_long() {
    let mut engine = Engine::new(chip(24, 48), vec![1000.0], 1.0);
    let mut reader = op(0, 24, 100);
    reader.demands.push((0, 1000.0));
    engine.push(0, 0, [], reader.clone());
    engine.push(1, 20 * US, [], reader);
    let times = run(&mut engine);
    // Alone for 20 us, then at half speed: 80 left take 160; then the other has 20 left at full speed.
    assert_eq!((times.of(0, 1), times.of(1, 1)), ((0, 180), (20, 200)));
}

#[test]
fn a_heavy_neighbour_costs_its_share() {
    let mut engine = Engine::new(chip(24, 48), vec![], 1.25);
    let mut heavy = op(0, 48, 50);
    heavy.heavy = true;
    engine.push(0, 0, [], op(24, 0, 100));
    engine.push(1, 0, [], heavy);
    let times = run(&mut engine);
    // 50 us at speed 0.8 do 40; the remaining 60 take 60.
    assert_eq!((times.of(0, 1), times.of(1, 1)), ((0, 110), (0, 50)));
}

/// Ascend/torchair, core_limit.md: a collective on 16 and one on 24 vector cores, and an operator that needs all 48,
/// in a crossed order on two devices.
#[test]
fn the_crossed_order_on_two_devices_is_found_and_named() {
    let mut engine = Engine::new(vec![Cores { cube: 24, vector: 48 }; 2], vec![], 1.0);
    let collective = |device, number, vector| {
        let mut op = op(0, vector, 10);
        op.ask.device = device;
        op.ask.resident = true;
        op.ask.meeting = Some(Meeting { number, ranks: 2 });
        op
    };
    let non_zero = |device, vector| {
        let mut op = op(0, vector, 10);
        op.ask.device = device;
        op.ask.resident = true;
        op
    };
    for limit in [48, 24] {
        // Device 0: streams 0 and 1; device 1: streams 2 and 3.
        engine.push(0, engine.now(), [], collective(0, 1, 16));
        engine.push(1, engine.now(), [], non_zero(0, limit));
        engine.push(1, engine.now(), [], collective(0, 2, 24));
        engine.push(3, engine.now(), [], collective(1, 2, 24));
        engine.push(2, engine.now(), [], non_zero(1, limit));
        engine.push(2, engine.now(), [], collective(1, 1, 16));
        let mut times = Times::default();
        let stop = engine.advance(Goal::Idle, &mut times);
        if limit == 24 {
            assert_eq!(stop, Stop::Reached);
            break;
        }
        let Stop::Circle(circle) = stop else { panic!("{stop:?}") };
        let streams: Vec<u32> = circle.iter().map(|stuck| stuck.at.stream).collect();
        assert_eq!(streams, [0, 2, 3, 1]);
        let whys: Vec<bool> = circle.iter().map(|stuck| stuck.why == Why::Meeting).collect();
        assert_eq!(whys, [true, false, true, false]);
        engine = Engine::new(vec![Cores { cube: 24, vector: 48 }; 2], vec![], 1.0);
    }
}

//! Random programs against a model that keeps all accesses and, for each thread, the set of those before it.
use super::super::*;
use fastrand::Rng;

/// Threads that act: two blocks with two warps each.
const ACTORS: [ThreadId; 6] = [
    ThreadId { block: 0, thread: 0 },
    ThreadId { block: 0, thread: 1 },
    ThreadId { block: 0, thread: 33 },
    ThreadId { block: 1, thread: 0 },
    ThreadId { block: 1, thread: 32 },
    ThreadId { block: 1, thread: 33 },
];
const THREADS: u32 = 34;
/// The bytes cross a page of the shadow.
const BASE: u64 = 1020;
const KINDS: [AccessKind; 7] = [
    AccessKind::Read,
    AccessKind::Read,
    AccessKind::Write,
    AccessKind::StrongRead,
    AccessKind::StrongWrite,
    AccessKind::Atomic,
    AccessKind::AsyncWrite,
];

/// Accesses as bits of their indices.
type Set = u128;

#[derive(Clone, Copy, Default)]
struct Scopes {
    block: Set,
    device: Set,
}

impl Scopes {
    fn add(&mut self, other: Scopes) {
        self.block |= other.block;
        self.device |= other.device;
    }
}

struct Event {
    actor: usize,
    kind: AccessKind,
    address: u64,
    bytes: u32,
    in_flight: bool,
}

#[derive(Default)]
struct Model {
    events: Vec<Event>,
    /// Accesses ordered before what an actor does next.
    known: [Set; 6],
    fenced: [Scopes; 6],
    observed: [Scopes; 6],
    /// What each of two flags has released to each block, and to all.
    flags: [([Set; 2], Set); 2],
}

fn is_strong(kind: AccessKind) -> bool {
    matches!(kind, AccessKind::StrongRead | AccessKind::StrongWrite | AccessKind::Atomic)
}

fn writes(kind: AccessKind) -> bool {
    !matches!(kind, AccessKind::Read | AccessKind::StrongRead)
}

impl Model {
    /// True if an access would race.
    fn races(&self, actor: usize, kind: AccessKind, address: u64, bytes: u32) -> bool {
        let overlaps = |event: &Event| {
            event.address < address + u64::from(bytes) && address < event.address + u64::from(event.bytes)
        };
        self.events.iter().enumerate().any(|(index, event)| {
            let conflicts = (writes(kind) || writes(event.kind)) && !(is_strong(kind) && is_strong(event.kind));
            overlaps(event) && conflicts && (event.in_flight || self.known[actor] >> index & 1 == 0)
        })
    }

    fn record(&mut self, actor: usize, kind: AccessKind, address: u64, bytes: u32) {
        let in_flight = kind == AccessKind::AsyncWrite;
        if !in_flight {
            self.known[actor] |= 1 << self.events.len();
        }
        self.events.push(Event { actor, kind, address, bytes, in_flight });
    }

    fn barrier(&mut self, waited: &[usize], arrived: &[usize]) {
        let (mut known, mut fenced) = (0, Scopes::default());
        for &actor in waited.iter().chain(arrived) {
            known |= self.known[actor];
            fenced.add(self.fenced[actor]);
        }
        for &actor in waited {
            self.known[actor] = known;
            self.fenced[actor] = fenced;
        }
    }

    fn fence(&mut self, actor: usize, scope: Scope) {
        let observed = &mut self.observed[actor];
        self.known[actor] |= std::mem::take(&mut observed.block);
        if scope == Scope::Device {
            self.known[actor] |= std::mem::take(&mut observed.device);
            self.fenced[actor].device = self.known[actor];
        }
        self.fenced[actor].block = self.known[actor];
    }

    fn publish(&mut self, actor: usize, flag: usize, released: Scopes) {
        self.flags[flag].0[ACTORS[actor].block as usize] |= released.block;
        self.flags[flag].1 |= released.device;
    }

    fn visible(&self, actor: usize, flag: usize) -> Scopes {
        Scopes { block: self.flags[flag].0[ACTORS[actor].block as usize], device: self.flags[flag].1 }
    }
}

/// Runs the same random steps on both until one finds a race; returns whether there was one.
fn compare(seed: u64) -> bool {
    let mut random = Rng::with_seed(seed);
    let (mut model, mut clocks, mut shadow) = (Model::default(), Clocks::default(), Shadow::new(false, 64));
    (0..2).for_each(|block| clocks.start_block(block, THREADS));
    for step in 0..120 {
        let actor = random.usize(..ACTORS.len());
        let (thread, scope) = (ACTORS[actor], [Scope::Block, Scope::Device][random.usize(..2)]);
        let flag = random.usize(..2);
        let name = Flag::Global(flag as u64);
        match random.u32(..14) {
            0 => {
                model.fence(actor, scope);
                clocks.fence(thread, scope);
            }
            1 => {
                let known = model.known[actor];
                let device = if scope == Scope::Device { known } else { 0 };
                model.publish(actor, flag, Scopes { block: known, device });
                clocks.release(thread, name, scope);
            }
            2 => {
                let visible = model.visible(actor, flag);
                model.known[actor] |= visible.block | if scope == Scope::Device { visible.device } else { 0 };
                clocks.acquire(thread, name, scope);
            }
            3 => {
                model.publish(actor, flag, model.fenced[actor]);
                clocks.strong_write(thread, name);
            }
            4 => {
                let visible = model.visible(actor, flag);
                model.observed[actor].add(visible);
                clocks.strong_read(thread, name);
            }
            5 | 6 => {
                let block = thread.block;
                let of_block = (0..ACTORS.len()).filter(|&other| ACTORS[other].block == block);
                let (mut waited, mut arrived) = (vec![actor], Vec::new());
                for other in of_block.filter(|&other| other != actor) {
                    match random.u32(..4) {
                        0 => {}
                        1 => arrived.push(other),
                        _ => waited.push(other),
                    }
                }
                model.barrier(&waited, &arrived);
                let threads = |actors: &[usize]| actors.iter().map(|&other| ACTORS[other].thread).collect::<Vec<_>>();
                clocks.barrier(block, &threads(&waited), &threads(&arrived));
            }
            7 => {
                for (index, event) in model.events.iter_mut().enumerate() {
                    if event.actor == actor && event.in_flight {
                        event.in_flight = false;
                        model.known[actor] |= 1 << index;
                        shadow.complete_async(&clocks, thread, event.address, event.bytes);
                    }
                }
            }
            _ => {
                let kind = KINDS[random.usize(..KINDS.len())];
                let bytes = [1, 2, 4][random.usize(..3)];
                let address = BASE + random.u64(..8 / u64::from(bytes)) * u64::from(bytes);
                let races = model.races(actor, kind, address, bytes);
                // Most races are left out, so that programs become long.
                if races && random.u32(..16) != 0 {
                    continue;
                }
                model.record(actor, kind, address, bytes);
                let found = shadow.access(&clocks, thread, kind, address, bytes, step);
                assert_eq!(
                    found.is_err(),
                    races,
                    "seed {seed}, step {step}: {kind:?} by {thread:?} of {address}: {found:?}"
                );
                if races {
                    return true;
                }
            }
        }
    }
    false
}

#[test]
fn random_programs_race_as_in_the_model() {
    let races = (0..30_000).filter(|&seed| compare(seed)).count();
    assert!((15_000..30_000).contains(&races), "{races}");
}

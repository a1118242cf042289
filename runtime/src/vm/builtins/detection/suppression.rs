//! Greedy non-maximum suppression of one class: takes boxes from the highest score down, and retains each that no
//! retained box suppresses.

/// Number of boxes that are compared at a time.
const LANES: usize = 8;

/// Number of candidates that are sorted first. Each further batch is twice as large: often the limit on boxes is
/// reached after a few, and sorting all candidates would dominate the time.
const FIRST_BATCH: usize = 256;

/// Parameters of the suppression.
pub struct Rules {
    /// Maximum number of boxes per class.
    pub max_boxes: usize,
    /// Minimum IoU at which the box with the lower score is suppressed.
    pub overlap: f32,
    /// The score that a box must exceed.
    pub score: f32,
}

/// A box by its lower and upper corner, with its area.
#[derive(Clone, Copy, Default)]
pub struct Corners {
    lower: [f32; 2],
    upper: [f32; 2],
    area: f32,
}

impl Corners {
    /// Creates a box from any two opposite corners.
    pub fn new(corners: &[f32; 4]) -> Corners {
        let [a, b, c, d] = *corners;
        let (lower, upper) = ([a.min(c), b.min(d)], [a.max(c), b.max(d)]);
        Corners { lower, upper, area: (upper[0] - lower[0]) * (upper[1] - lower[1]) }
    }
}

/// Returns the indices of the retained boxes, best first; equal scores keep their order. A score of NaN exceeds none.
pub fn select(boxes: &[Corners], scores: &[f32], rules: &Rules) -> Vec<usize> {
    let mut kept: Vec<usize> = Vec::new();
    if rules.max_boxes == 0 {
        return kept;
    }
    let candidates = scores.iter().enumerate().filter(|(_, score)| **score > rules.score);
    let mut keys: Vec<_> = candidates.map(|(index, score)| (u64::from(!sort_key(*score)), index)).collect();
    let (mut rest, mut batch) = (keys.as_mut_slice(), FIRST_BATCH);
    let mut retained = Retained::default();
    while !rest.is_empty() {
        if batch < rest.len() {
            rest.select_nth_unstable(batch);
        }
        let (best, others) = rest.split_at_mut(batch.min(rest.len()));
        best.sort_unstable();
        for (_, index) in best {
            let candidate = &boxes[*index];
            if !retained.any_overlaps(candidate, rules.overlap) {
                retained.push(candidate);
                kept.push(*index);
                if kept.len() == rules.max_boxes {
                    return kept;
                }
            }
        }
        (rest, batch) = (others, batch * 2);
    }
    kept
}

/// Maps a score to an integer with the same order; both zeros are equal.
fn sort_key(score: f32) -> u32 {
    let bits = (score + 0.0).to_bits();
    if bits >> 31 == 0 { bits | 1 << 31 } else { !bits }
}

/// Retained boxes, interleaved in groups of [`LANES`]. Unused lanes of the last group are empty boxes, which overlap
/// none.
#[derive(Default)]
struct Retained {
    groups: Vec<Group>,
    count: usize,
}

#[derive(Clone, Copy, Default)]
struct Group {
    lower: [[f32; LANES]; 2],
    upper: [[f32; LANES]; 2],
    area: [f32; LANES],
}

impl Retained {
    fn push(&mut self, corners: &Corners) {
        let lane = self.count % LANES;
        if lane == 0 {
            self.groups.push(Group::default());
        }
        if let Some(group) = self.groups.last_mut() {
            for axis in 0..2 {
                group.lower[axis][lane] = corners.lower[axis];
                group.upper[axis][lane] = corners.upper[axis];
            }
            group.area[lane] = corners.area;
        }
        self.count += 1;
    }

    /// True if the intersection over union (IoU) with a retained box is at least `threshold`. Boxes that do not
    /// overlap never suppress each other.
    fn any_overlaps(&self, corners: &Corners, threshold: f32) -> bool {
        self.groups.iter().any(|group| {
            let mut any = false;
            for lane in 0..LANES {
                let shared = |axis: usize| {
                    let upper = group.upper[axis][lane].min(corners.upper[axis]);
                    (upper - group.lower[axis][lane].max(corners.lower[axis])).max(0.0)
                };
                let both = shared(0) * shared(1);
                let union = group.area[lane] + corners.area - both;
                let overlap = both / union;
                any |= union > 0.0 && overlap > 0.0 && overlap >= threshold;
            }
            any
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The definition: each candidate in order of score against each retained box.
    fn reference(boxes: &[[f32; 4]], scores: &[f32], rules: &Rules) -> Vec<usize> {
        let mut order: Vec<usize> = (0..scores.len()).filter(|at| scores[*at] > rules.score).collect();
        order.sort_by(|a, b| scores[*b].total_cmp(&scores[*a]));
        let mut kept: Vec<usize> = Vec::new();
        for at in order {
            if kept.len() < rules.max_boxes && !kept.iter().any(|k| iou(&boxes[*k], &boxes[at]) >= rules.overlap) {
                kept.push(at);
            }
        }
        kept
    }

    fn iou(a: &[f32; 4], b: &[f32; 4]) -> f32 {
        let side = |c: &[f32; 4], k: usize| (c[k].min(c[k + 2]), c[k].max(c[k + 2]));
        let area = |c: &[f32; 4]| (side(c, 0).1 - side(c, 0).0) * (side(c, 1).1 - side(c, 1).0);
        let shared = |k: usize| (side(a, k).1.min(side(b, k).1) - side(a, k).0.max(side(b, k).0)).max(0.0);
        let both = shared(0) * shared(1);
        both / (area(a) + area(b) - both)
    }

    #[test]
    fn selection_matches_the_definition() {
        let mut state = 1u32;
        let mut random = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) as f32 / (1 << 24) as f32
        };
        for (count, max_boxes, overlap, score) in
            [(0, 5, 0.5, 0.0), (7, 100, 0.3, 0.2), (300, 20, 0.6, 0.0), (900, 900, 0.9, 0.1), (2000, 2000, 0.2, 0.5)]
        {
            let boxes: Vec<[f32; 4]> = (0..count)
                .map(|_| {
                    let [x, y, w, h] = [random(), random(), random() * 0.3, random() * 0.3];
                    // Corners in either order.
                    if random() < 0.5 { [x, y, x + w, y + h] } else { [x + w, y, x, y + h] }
                })
                .collect();
            // Few distinct scores, so that many are equal.
            let scores: Vec<f32> = (0..count).map(|_| (random() * 50.0).floor() / 50.0).collect();
            let rules = Rules { max_boxes, overlap, score };
            let corners: Vec<Corners> = boxes.iter().map(Corners::new).collect();
            assert_eq!(select(&corners, &scores, &rules), reference(&boxes, &scores, &rules), "{count} boxes");
        }
    }

    #[test]
    fn scores_sort_as_numbers() {
        let scores = [f32::NEG_INFINITY, -2.0, -0.0, 1e-40, 3.0, f32::INFINITY];
        assert!(scores.map(sort_key).is_sorted_by(|a, b| a < b));
        assert_eq!(sort_key(0.0), sort_key(-0.0));
        let rules = Rules { max_boxes: 9, overlap: 0.5, score: f32::MIN };
        let apart = [0.0, 2.0, 4.0].map(|x| Corners::new(&[x, 0.0, x + 1.0, 1.0]));
        assert_eq!(select(&apart, &[-0.0, f32::NAN, 0.0], &rules), [0, 2]);
    }
}

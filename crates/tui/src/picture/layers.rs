//! Where the tasks of a graph stand in a picture: a column by depth, a row in it, and the lanes of the edges between.
//!
//! Pure. A task stands right of all that it waits for (longest path). An edge over several columns passes through
//! each of them in a row of its own, so that it crosses no task. Where two edges meet before a task, the one could be
//! taken for a way to where only the other leads: no picture is made then.

use std::collections::BTreeMap;

/// Tasks of which a picture is made at most; more are a list.
const MAX_TASKS: usize = 40;
/// Rows of a picture at most.
const MAX_ROWS: usize = 24;

/// What stands in a row of a column: a task, or an edge that passes.
#[derive(Clone, Debug)]
pub(super) struct Place {
    /// Index of the task; `None` for an edge that passes.
    pub task: Option<usize>,
    /// The row.
    pub row: usize,
    /// Indices, in the next column, of what it leads to.
    pub next: Vec<usize>,
}

/// Edges that share one vertical line between two columns.
#[derive(Clone, Debug)]
pub(super) struct Net {
    /// Rows that it comes from.
    pub from: Vec<usize>,
    /// Rows that it leads to.
    pub to: Vec<usize>,
    /// Its vertical line, from the left; `None` for a straight edge.
    pub lane: Option<usize>,
}

/// Columns from the left, and what lies between each and the next.
#[derive(Debug)]
pub(super) struct Layers {
    pub columns: Vec<Vec<Place>>,
    pub gaps: Vec<Vec<Net>>,
    pub rows: usize,
}

/// Returns the places for tasks that wait for those in `after`; `None` when a list tells it better.
pub(super) fn layers(after: &[&[usize]]) -> Option<Layers> {
    let after = &essential(after)?;
    let has_edges = after.iter().any(|before| !before.is_empty());
    if !has_edges {
        return None;
    }
    let mut columns = columns(after, &depths(after)?);
    order(&mut columns);
    let rows = rows(&mut columns);
    if rows > MAX_ROWS {
        return None;
    }
    let gaps = columns.windows(2).map(|pair| if let [left, right] = pair { nets(left, right) } else { None });
    let gaps = gaps.collect::<Option<Vec<_>>>()?;
    Some(Layers { columns, gaps, rows })
}

/// Leaves out the edges that others imply: who waits for b, which waits for a, waits for a.
fn essential(after: &[&[usize]]) -> Option<Vec<Vec<usize>>> {
    if after.len() > MAX_TASKS {
        return None;
    }
    // Everything that a task waits for, also by way of others, a bit each.
    let mut all = vec![0_u64; after.len()];
    for _ in 0..after.len() {
        for (at, before) in after.iter().enumerate() {
            all[at] = before.iter().fold(all[at], |all_of_it, task| all_of_it | 1 << task | all[*task]);
        }
    }
    let implied = |before: &[usize], task: &usize| before.iter().any(|other| all[*other] >> task & 1 == 1);
    let kept = |before: &&[usize]| before.iter().filter(|task| !implied(before, task)).copied().collect();
    Some(after.iter().map(kept).collect())
}

/// Returns for each task the longest way to it; `None` when they go round in a circle.
fn depths(after: &[Vec<usize>]) -> Option<Vec<usize>> {
    let mut depths: Vec<Option<usize>> = vec![None; after.len()];
    for _ in 0..after.len() {
        let mut moved = false;
        for (at, before) in
            after.iter().enumerate().filter(|(at, _)| depths.get(*at) == Some(&None)).collect::<Vec<_>>()
        {
            let known: Option<Vec<usize>> =
                before.iter().map(|task| depths.get(*task).copied().flatten()).collect();
            if let (Some(known), Some(depth)) = (known, depths.get_mut(at)) {
                *depth = Some(known.into_iter().max().map_or(0, |deepest| deepest + 1));
                moved = true;
            }
        }
        if !moved {
            break;
        }
    }
    depths.into_iter().collect()
}

/// Puts each task into its column, and a passing edge into each column between a task and what waits for it.
fn columns(after: &[Vec<usize>], depths: &[usize]) -> Vec<Vec<Place>> {
    let last = depths.iter().copied().max().unwrap_or(0);
    let mut columns: Vec<Vec<Place>> = vec![Vec::new(); last + 1];
    let mut index = vec![0; after.len()];
    for (task, depth) in depths.iter().enumerate() {
        index[task] = columns[*depth].len();
        columns[*depth].push(Place { task: Some(task), row: 0, next: Vec::new() });
    }
    for (task, depth) in depths.iter().enumerate() {
        let waiting: Vec<usize> = (0..after.len()).filter(|other| after[*other].contains(&task)).collect();
        let farthest = waiting.iter().map(|other| depths[*other]).max().unwrap_or(*depth);
        let mut from = index[task];
        for column in *depth..farthest {
            let mut next: Vec<usize> = waiting
                .iter()
                .filter(|other| depths[**other] == column + 1)
                .map(|other| index[*other])
                .collect();
            if column + 1 < farthest {
                next.push(columns[column + 1].len());
                columns[column + 1].push(Place { task: None, row: 0, next: Vec::new() });
            }
            let passing = next.last().copied().unwrap_or(0);
            columns[column][from].next = next;
            from = passing;
        }
    }
    columns
}

/// Orders each column by the middle of what leads to it and of what it leads to, so that few edges cross.
fn order(columns: &mut [Vec<Place>]) {
    for sweep in 0..6 {
        let downwards = sweep % 2 == 0;
        let pairs: Vec<usize> = if downwards {
            (1..columns.len()).collect()
        } else {
            (0..columns.len().saturating_sub(1)).rev().collect()
        };
        for at in pairs {
            let neighbours = |place: usize| -> Vec<usize> {
                if downwards {
                    let left = columns[at - 1].iter().enumerate();
                    left.filter(|(_, other)| other.next.contains(&place)).map(|(row, _)| row).collect()
                } else {
                    columns[at][place].next.clone()
                }
            };
            let middle = |place: usize| {
                let rows = neighbours(place);
                if rows.is_empty() {
                    place as f64
                } else {
                    rows.iter().sum::<usize>() as f64 / rows.len() as f64
                }
            };
            let mut sorted: Vec<(usize, f64)> =
                (0..columns[at].len()).map(|place| (place, middle(place))).collect();
            sorted.sort_by(|a, b| a.1.total_cmp(&b.1).then(a.0.cmp(&b.0)));
            arrange(columns, at, &sorted.into_iter().map(|(place, _)| place).collect::<Vec<_>>());
        }
    }
}

/// Brings column `at` into the order `sorted` of its old indices, and the edges that lead to it.
fn arrange(columns: &mut [Vec<Place>], at: usize, sorted: &[usize]) {
    let mut new_index = vec![0; sorted.len()];
    for (new, old) in sorted.iter().enumerate() {
        new_index[*old] = new;
    }
    columns[at] = sorted.iter().map(|old| columns[at][*old].clone()).collect();
    if at > 0 {
        for next in columns[at - 1].iter_mut().flat_map(|place| place.next.iter_mut()) {
            *next = new_index[*next];
        }
    }
}

/// Gives each place its row, near the middle of what leads to it; returns the number of rows.
fn rows(columns: &mut [Vec<Place>]) -> usize {
    let mut rows = 0;
    for at in 0..columns.len() {
        let mut free = 0;
        for place in 0..columns[at].len() {
            let from: Vec<usize> = match at.checked_sub(1) {
                Some(left) => columns[left]
                    .iter()
                    .filter(|other| other.next.contains(&place))
                    .map(|other| other.row)
                    .collect(),
                None => Vec::new(),
            };
            let wanted = if from.is_empty() { free } else { from.iter().sum::<usize>() / from.len() };
            let row = wanted.max(free);
            columns[at][place].row = row;
            free = row + 1;
        }
        rows = rows.max(free);
    }
    rows
}

/// Returns the edges between two columns; `None` when no order of their lanes keeps them apart.
fn nets(left: &[Place], right: &[Place]) -> Option<Vec<Net>> {
    // What leads to the same places shares a lane.
    let mut by_targets: BTreeMap<Vec<usize>, Vec<usize>> = BTreeMap::new();
    for place in left.iter().filter(|place| !place.next.is_empty()) {
        let mut to: Vec<usize> = place.next.iter().map(|next| right[*next].row).collect();
        to.sort_unstable();
        by_targets.entry(to).or_default().push(place.row);
    }
    let mut nets: Vec<Net> = by_targets.into_iter().map(|(to, from)| Net { from, to, lane: None }).collect();
    let mut open: Vec<usize> =
        (0..nets.len()).filter(|at| nets[*at].from != nets[*at].to || nets[*at].from.len() > 1).collect();
    // What leads to more places stands further left: what joins it leads to no place that it does not.
    open.sort_by_key(|at| std::cmp::Reverse(nets[*at].to.len()));
    // Where an edge begins in the row in which another ends, the one that begins must turn away first.
    let turns = |a: &Net, b: &Net| a.from.iter().any(|row| b.to.contains(row));
    // Where two meet before a task, the one further left runs into the other's lane.
    let misleads = |a: &Net, b: &Net| {
        a.to.iter().any(|row| b.to.contains(row)) && a.to.iter().any(|row| !b.to.contains(row))
    };
    let before = |a: &Net, b: &Net| turns(a, b) || misleads(a, b);
    let straight = (0..nets.len()).filter(|at| !open.contains(at)).map(|at| &nets[at]);
    if straight.into_iter().any(|straight| nets.iter().any(|net| misleads(net, straight))) {
        return None;
    }
    let mut lane = 0;
    while !open.is_empty() {
        let is_free = |at: &usize| open.iter().all(|other| other == at || !before(&nets[*other], &nets[*at]));
        let at = open.iter().position(is_free)?;
        let net = open.remove(at);
        nets[net].lane = Some(lane);
        lane += 1;
    }
    Some(nets)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Task and row of each place, by column.
    type Placed = Vec<Vec<(Option<usize>, usize)>>;

    fn placed(after: &[&[usize]]) -> Option<Placed> {
        let layers = layers(after)?;
        let column = |column: &Vec<Place>| column.iter().map(|place| (place.task, place.row)).collect();
        Some(layers.columns.iter().map(column).collect())
    }

    #[test]
    fn tasks_stand_right_of_what_they_wait_for() {
        let diamond = placed(&[&[], &[0], &[0], &[1, 2]]).expect("a picture");
        assert_eq!(diamond, [vec![(Some(0), 0)], vec![(Some(1), 0), (Some(2), 1)], vec![(Some(3), 0)]]);
        // 0 -> 1 -> 2 implies 0 -> 2.
        let chain = placed(&[&[], &[0], &[0, 1]]).expect("a picture");
        assert_eq!(chain, [vec![(Some(0), 0)], vec![(Some(1), 0)], vec![(Some(2), 0)]]);
        // 3 -> 2 passes beside 1.
        let passing = placed(&[&[], &[0], &[1, 3], &[]]).expect("a picture");
        let expected = [vec![(Some(0), 0), (Some(3), 1)], vec![(Some(1), 0), (None, 1)], vec![(Some(2), 0)]];
        assert_eq!(passing, expected);
        // Two chains written crosswise are drawn side by side.
        let crosswise = placed(&[&[], &[], &[1], &[0]]).expect("a picture");
        assert_eq!(crosswise, [vec![(Some(0), 0), (Some(1), 1)], vec![(Some(3), 0), (Some(2), 1)]]);
    }

    #[test]
    fn what_no_picture_tells_is_left_to_a_list() {
        assert!(placed(&[&[], &[]]).is_none(), "no edges");
        assert!(placed(&[&[1], &[0]]).is_none(), "a circle");
        let many: Vec<&[usize]> =
            std::iter::once(&[][..]).chain(std::iter::repeat_n(&[0][..], 500)).collect();
        assert!(placed(&many).is_none(), "too many");
        // 2 waits for 0 alone, 3 for both: drawn, 1 could be taken for a way to 2.
        assert!(placed(&[&[], &[], &[0], &[0, 1]]).is_none(), "misleading");
    }
}

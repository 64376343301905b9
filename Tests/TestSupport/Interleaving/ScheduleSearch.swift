// Which schedule is tried next: all with at most so many preemptions, one after another, then random ones.
//
// A schedule is the list of decisions of a run. Going on with the thread that has the turn costs nothing; taking the
// turn from one that could go on is a preemption. Few preemptions are enough for nearly every race that was ever found
// (Musuvathi and Qadeer, PLDI 2007), and bounding them makes all schedules of a small case a finite, countable set.
//
// Invariants
//   1. The search goes depth first: each run repeats the decisions of the one before up to the last that has an
//      untried alternative. A run that meets other choices than before is not repeatable, and says so.
//   2. Twins are threads that do the same: the second never begins before the first, which loses nothing.

/// Finds schedules.
package final class ScheduleSearch {
    private struct Choice {
        let count: Int
        var chosen: Int
    }

    private enum Kind {
        case exhaustive(preemptionMax: Int)
        case random(SeededGenerator)
        case replay([Int])
    }

    private var kind: Kind
    private let twins: [Int: Int]
    private var path: [Choice] = []
    private var depth = 0
    private var preemptionCount = 0
    private var begun: Set<Int> = []
    /// Whether a run met other choices than the run it repeats.
    package private(set) var hasDiverged = false

    /// All schedules with at most `preemptionMax` preemptions.
    ///
    /// - Parameter twins: threads that do what another of a lower number does, with that number.
    package convenience init(preemptionMax: Int, twins: [Int: Int] = [:]) {
        self.init(.exhaustive(preemptionMax: preemptionMax), twins: twins)
    }

    /// One random schedule.
    package convenience init(seed: UInt64) { self.init(.random(SeededGenerator(seed: seed))) }

    /// The schedule with these decisions.
    package convenience init(repeating decisions: [Int]) { self.init(.replay(decisions)) }

    private init(_ kind: Kind, twins: [Int: Int] = [:]) { (self.kind, self.twins) = (kind, twins) }

    /// The decisions of the last run, so that it can be repeated.
    package private(set) var decisions: [Int] = []

    /// The same as text: which thread, and how often in a row.
    package var text: String {
        var parts: [(thread: Int, count: Int)] = []
        for thread in decisions {
            if parts.last?.thread == thread {
                parts[parts.count - 1].count += 1
            } else {
                parts.append((thread, 1))
            }
        }
        return parts.map { $0.count == 1 ? "\($0.thread)" : "\($0.thread)*\($0.count)" }.joined(separator: " ")
    }

    /// The schedule that a text describes.
    package convenience init(text: String) {
        let decisions = text.split(separator: " ").flatMap { part in
            let numbers = part.split(separator: "*").compactMap { Int($0) }
            return Array(repeating: numbers.first ?? 0, count: numbers.count > 1 ? numbers[1] : 1)
        }
        self.init(repeating: decisions)
    }

    /// Begins a run.
    package func begin() {
        (depth, preemptionCount) = (0, 0)
        begun.removeAll(keepingCapacity: true)
        decisions.removeAll(keepingCapacity: true)
    }

    /// Moves on to the next schedule; `false` if there is none.
    package func advance() -> Bool {
        guard case .exhaustive = kind else { return false }
        while let last = path.last {
            if last.chosen + 1 < last.count {
                path[path.count - 1].chosen += 1
                return true
            }
            path.removeLast()
        }
        return false
    }

    /// Chooses one of the `ready` threads, of which the first is `current` if that can go on.
    package func decide(_ ready: [Int], current: Int?) -> Int {
        let options = twins.isEmpty ? ready : ready.filter { twins[$0].map(begun.contains) ?? true }
        let chosen = choose(options, canPreempt: current != nil)
        if let current, current != chosen { preemptionCount += 1 }
        begun.insert(chosen)
        decisions.append(chosen)
        return chosen
    }

    private func choose(_ options: [Int], canPreempt: Bool) -> Int {
        switch kind {
        case .random(var chance):
            defer { kind = .random(chance) }
            // Going on is likelier than all else together, or runs would be nothing but preemptions.
            if canPreempt, Int.random(in: 0..<3, using: &chance) > 0 { return options[0] }
            return options[Int.random(in: options.indices, using: &chance)]
        case .replay(let decisions):
            let number = self.decisions.count
            if number < decisions.count, options.contains(decisions[number]) { return decisions[number] }
            hasDiverged = true
            return options[0]
        case .exhaustive(let preemptionMax):
            if options.count == 1 || canPreempt && preemptionCount == preemptionMax { return options[0] }
            if depth == path.count { path.append(Choice(count: options.count, chosen: 0)) }
            if path[depth].count != options.count { hasDiverged = true }
            defer { depth += 1 }
            return options[min(path[depth].chosen, options.count - 1)]
        }
    }
}

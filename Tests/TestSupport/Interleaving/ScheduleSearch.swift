// Chooses the schedule of the next run: either all schedules up to a number of preemptions, one after another, or a
// random one, or one that is repeated.
//
// A schedule is the list of decisions of a run. A decision that leaves the turn with its thread is free; one that takes
// the turn from a thread that could continue is a preemption. A few preemptions are enough to expose nearly every known
// race (Musuvathi and Qadeer, PLDI 2007), and a bound on them makes the schedules of a small case a finite set.
//
// Invariants
//   1. The search is depth first: each run repeats the decisions of the run before it up to the last decision that has
//      an untried alternative. A run that meets other choices than before is not repeatable and sets `hasDiverged`.
//   2. Twins are threads that do the same work: the second never begins before the first. This omits only schedules
//      that equal others.

/// A search for schedules.
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
    /// Whether a run met other choices than the run that it repeats.
    package private(set) var hasDiverged = false

    /// All schedules with at most `preemptionMax` preemptions.
    ///
    /// - Parameter twins: for each thread that does the same work as one of a lower number, that number.
    package convenience init(preemptionMax: Int, twins: [Int: Int] = [:]) {
        self.init(.exhaustive(preemptionMax: preemptionMax), twins: twins)
    }

    /// One random schedule.
    package convenience init(seed: UInt64) { self.init(.random(SeededGenerator(seed: seed))) }

    /// The schedule with these decisions.
    package convenience init(repeating decisions: [Int]) { self.init(.replay(decisions)) }

    private init(_ kind: Kind, twins: [Int: Int] = [:]) { (self.kind, self.twins) = (kind, twins) }

    /// The decisions of the last run; `init(repeating:)` repeats it.
    package private(set) var decisions: [Int] = []

    /// The decisions as text: each thread's number, with the length of its run of turns, as in `0*2 1`.
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

    /// The schedule that `text` describes, in the form of the property `text`.
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

    /// Advances to the next schedule; returns `false` if there is none.
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

    /// Chooses one of the `ready` threads; the first of them is `current` if that thread can continue.
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
            // The current thread continues in more than two of three decisions, else most steps are preemptions.
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

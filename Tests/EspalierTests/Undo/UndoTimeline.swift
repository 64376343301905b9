// The events of a walk with an undo manager, and what was shown on their two sides: what undoing and redoing must show.
//
// Invariants
//   1. There is an event for each group of the undo manager, in the order of its stacks.
//   2. If every change since an event has a step, its undo or redo leads exactly to its other side. Beads that have
//      changed without steps since are outdated: attributes that the event has changed get their former values, and
//      both ends of relationships agree. Other beads are as on the other side, unless they lead to such a bead.
//   3. A state has, for each bead, the values of `BeadProperty`, and then those of other attributes.

/// The past and the future of one context.
struct UndoTimeline {
    /// An event, or the undo or redo of one.
    struct Event {
        /// The name of its group.
        var name: String
        let before: BeadState
        let after: BeadState
        /// The time at which it was made.
        let time: Int
        /// The beads that have also changed without steps within the event; `nil` if all of it has steps.
        var mixed: Set<Int>?
        /// Whether its group has no actions, because it was undone or redone while registration was off.
        var isEmpty = false
    }

    /// The events that can be undone, and those that can be redone; the next one is last.
    private(set) var past: [Event] = []
    private(set) var future: [Event] = []
    /// The state that the context shows.
    private(set) var present: BeadState
    /// The largest number of events in each direction; 0 for no limit.
    var levels = 0 { didSet { trim() } }
    /// The number of changes of the timeline so far.
    private var time = 0
    /// The last time at which each bead has changed without a step.
    private var touched: [Int: Int] = [:]
    /// The last time at which something may have changed without a step, shown or not.
    private var lastUnrecorded = 0

    init(_ present: BeadState) { self.present = present }

    // MARK: Events

    /// Adds an event of the context, which now shows `now`.
    ///
    /// - Parameters:
    ///   - mixed: the beads that have also changed without steps in it; `nil` if all of it has steps.
    ///   - isTrimmed: whether its group is on the undo manager's stack, of which the oldest groups are removed.
    mutating func add(_ name: String, _ now: BeadState, mixed: Set<Int>? = nil, isTrimmed: Bool = true) {
        time += 1
        if let mixed { touch(mixed) }
        past.append(Event(name: name, before: present, after: now, time: time, mixed: mixed))
        (present, future) = (now, [])
        if isTrimmed { trim() }
    }

    /// Notes what the context shows after changes that have no steps.
    mutating func noteUnrecorded(_ now: BeadState) {
        time += 1
        touch(Self.changed(present, now))
        present = now
    }

    private mutating func touch(_ numbers: Set<Int>) {
        for number in numbers { touched[number] = time }
        lastUnrecorded = time
    }

    /// Forgets all events, as the undo manager does.
    mutating func removeAll() { (past, future) = ([], []) }

    /// Gives the event that would be undone next another name.
    mutating func rename(_ name: String) {
        if !past.isEmpty { past[past.count - 1].name = name }
    }

    private mutating func trim() {
        guard levels > 0 else { return }
        past.removeFirst(max(0, past.count - levels))
        future.removeFirst(max(0, future.count - levels))
    }

    /// The beads that differ in two states.
    static func changed(_ state: BeadState, _ other: BeadState) -> Set<Int> {
        Set(state.keys).union(other.keys).filter { state[$0] != other[$0] }
    }

    // MARK: Undoing

    /// Undoes or redoes the next event, after which the context shows `found`; returns what is wrong with that.
    ///
    /// - Parameter isRecorded: whether registration was on.
    mutating func turn(isRedo: Bool, isRecorded: Bool = true, _ found: BeadState) -> String? {
        time += 1
        guard let event = isRedo ? future.popLast() : past.popLast() else { return "there is no event" }
        let problem = fault(in: found, event, isRedo: isRedo)
        if !isRecorded { touch(Self.changed(present, found)) }
        let (before, after) = isRedo ? (present, found) : (found, present)
        let reverse = Event(
            name: event.name, before: before, after: after, time: time, isEmpty: event.isEmpty || !isRecorded)
        if isRedo { past.append(reverse) } else { future.append(reverse) }
        present = found
        trim()
        return problem
    }

    private mutating func fault(in found: BeadState, _ event: Event, isRedo: Bool) -> String? {
        if event.isEmpty { return Self.difference(found, present) }
        let (other, wanted) = isRedo ? (event.before, event.after) : (event.after, event.before)
        if event.mixed == nil, lastUnrecorded <= event.time { return Self.difference(found, wanted) }
        var outdated = Set(touched.filter { $0.value > event.time }.keys).union(event.mixed ?? [])
        if BeadBoard.fault(in: present) == nil, let fault = BeadBoard.fault(in: found) { return fault }
        // A rule may have reached a bead by way of one that is outdated, or does not reach it any more.
        for number in Set(found.keys).symmetricDifference(wanted.keys) {
            outdated.insert(number)
            touched[number] = time
        }
        for (number, values) in wanted {
            guard let row = found[number] else { continue }
            if event.mixed?.contains(number) != true,
                let fault = attributeFault(number, row, values, other[number], isOutdated: outdated.contains(number))
            {
                return fault
            }
            if outdated.contains(number) || Self.leads(values, to: outdated) || Self.leads(row, to: outdated) {
                touched[number] = time
            } else if BeadProperty.relationships.contains(where: { row[$0] != values[$0] }) {
                return Self.difference([number: row], [number: values])
            }
        }
        return nil
    }

    /// - Parameter other: the values on the side of the event from which it was undone or redone.
    private func attributeFault(
        _ number: Int, _ row: [[Int]], _ wanted: [[Int]], _ other: [[Int]]?, isOutdated: Bool
    ) -> String? {
        for index in wanted.indices where !Self.isRelationship(index) && row[index] != wanted[index] {
            // A value that the event has left as it was may keep the one that it has got without a step.
            if isOutdated, other == nil || other?[index] == wanted[index],
                present[number] == nil || present[number]?[index] == row[index]
            {
                continue
            }
            return Self.difference([number: row], [number: wanted])
        }
        return nil
    }

    private static func isRelationship(_ index: Int) -> Bool {
        BeadProperty(rawValue: index)?.isRelationship == true
    }

    private static func leads(_ values: [[Int]], to numbers: Set<Int>) -> Bool {
        BeadProperty.relationships.contains { values[$0].contains { $0 < 0 || numbers.contains($0) } }
    }

    /// The first difference of a state from the wanted one, in words; `nil` if there is none.
    static func difference(_ found: BeadState, _ wanted: BeadState) -> String? {
        guard let number = changed(found, wanted).min() else { return nil }
        guard let row = found[number], let values = wanted[number] else {
            return "\(number) is \(found[number] == nil ? "missing" : "there")"
        }
        let texts = values.indices.filter { row[$0] != values[$0] }.map { index in
            let name = BeadProperty(rawValue: index).map { $0.name } ?? "value \(index)"
            return "\(name) \(row[index]), not \(values[index])"
        }
        return "\(number) shows \(texts.joined(separator: "; "))"
    }
}

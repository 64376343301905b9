// The states that a context of a walk has shown, before and after each event that it can undo or redo.
//
// Invariants
//   1. There is an entry for each group of its undo manager, as far back as the walk knows.
//   2. A state is comparable without relationships that have no inverse: stores remove references to deleted rows from
//      them, and an undo does not restore these.

import Espalier

/// The states around the events of one context.
struct ShownHistory {
    /// An event, and what was shown on its two sides; `nil` if nobody has seen it.
    private struct Event {
        var before: BeadState?
        var after: BeadState?
    }

    /// The last event is the next one to be undone.
    private var past: [Event] = []
    /// The last event is the next one to be redone.
    private var future: [Event] = []
    private var present: BeadState

    init(_ present: BeadState) { self.present = Self.comparable(present) }

    static func comparable(_ state: BeadState) -> BeadState {
        state.mapValues { values in
            BeadProperty.allCases.map { $0.isRelationship && $0.inverse == nil ? [] : values[$0] }
        }
    }

    /// Notes what the context shows at the end of a step, in which it may have registered events, or lost all.
    ///
    /// - Parameter isSeen: whether what it shows has changed by such events only.
    mutating func note(_ shown: BeadState, _ manager: UndoStack, isSeen: Bool) {
        let former = present
        present = Self.comparable(shown)
        if manager.redoCount != future.count { future = [] }
        past.removeFirst(max(0, past.count - manager.undoCount))
        guard manager.undoCount > past.count else { return }
        let first = past.count
        past += Array(repeating: Event(), count: manager.undoCount - first)
        guard isSeen else { return }
        past[first].before = former
        past[past.count - 1].after = present
    }

    /// The state that an undo or redo must lead to; `nil` if others have changed what is shown since the event.
    func expected(_ shown: BeadState, isRedo: Bool) -> BeadState? {
        let event = isRedo ? future.last : past.last
        let (start, end) = isRedo ? (event?.before, event?.after) : (event?.after, event?.before)
        return start == Self.comparable(shown) ? end : nil
    }

    /// Notes that the last event was undone or redone.
    mutating func noteReturn(_ shown: BeadState, isRedo: Bool) {
        let former = present
        present = Self.comparable(shown)
        if isRedo {
            if future.popLast() != nil { past.append(Event(before: former, after: present)) }
        } else if past.popLast() != nil {
            future.append(Event(before: present, after: former))
        }
    }
}

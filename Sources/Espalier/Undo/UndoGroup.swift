// A group of actions, which an undo manager undoes or redoes together.
//
// Not here: which groups are open, and which can be undone or redone (UndoStack).

/// Actions, and groups within the group, in the order in which they were registered.
final class UndoGroup {
    /// An action, or a group within a group.
    enum Entry {
        case action(Action)
        case group(UndoGroup)
    }

    /// The work that reverts a change.
    struct Action {
        let target: ObjectIdentifier
        /// Whether the application has registered it, and not a source.
        let isOwn: Bool
        /// Runs the action, unless this is a test; returns whether the target still lives.
        let body: (_ isTest: Bool) -> Bool

        init<Target: AnyObject>(on target: Target, isOwn: Bool, _ handler: @escaping (Target) -> Void) {
            self.target = ObjectIdentifier(target)
            self.isOwn = isOwn
            body = { [weak target] isTest in
                guard let target else { return false }
                if !isTest { handler(target) }
                return true
            }
        }
    }

    var name: String
    var entries: [Entry] = []
    /// Whether it began automatically, with the first action of an event.
    let isEvent: Bool
    var isEmptyEvent: Bool { isEvent && entries.isEmpty }

    init(name: String = "", isEvent: Bool = false) { (self.name, self.isEvent) = (name, isEvent) }

    /// Removes the unwanted actions, and appends them to `removed`.
    func removeAll(where isUnwanted: (Action) -> Bool, _ removed: inout [Action]) {
        entries.removeAll { entry in
            switch entry {
            case .action(let action):
                guard isUnwanted(action) else { return false }
                removed.append(action)
                return true
            case .group(let group):
                group.removeAll(where: isUnwanted, &removed)
                return group.entries.isEmpty
            }
        }
    }
}

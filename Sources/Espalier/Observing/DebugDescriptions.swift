// Descriptions of objects, contexts, undo managers and stacks for debuggers and messages of tests (DB-04).
//
// Not here: the container's, which is in a later folder (`PersistentContainer`).
//
// Invariants
//   1. A description loads nothing, fires no fault, and calls no hook.

import EspalierModel

extension ManagedObject: CustomDebugStringConvertible {
    /// State, ID, and each property that is in memory; a changed one with its committed value.
    ///
    /// Loads nothing: what would have to be loaded is called a fault.
    public final var debugDescription: String {
        let lines =
            entity.attributes.map { attribute in "\(attribute.name): \(text(of: attribute))" }
            + entity.relationships.map { relationship in "\(relationship.name): \(text(of: relationship))" }
        let head = "\(entity.name) \(storedID) (\(stateText))"
        return isFault && !hasRow && changes == nil ? head : head + " {\n  " + lines.joined(separator: "\n  ") + "\n}"
    }

    private var stateText: String {
        var words: [String] = []
        if isContextEnded {
            words.append("its context has ended")
        } else if !state.contains(.registered) {
            words.append("in no context")
        }
        if isFault { words.append("fault") }
        if isInserted { words.append("inserted") }
        if isUpdated { words.append("updated") }
        if isDeleted { words.append(state.contains(.inaccessible) ? "its row is deleted" : "deleted") }
        return words.isEmpty ? "unchanged" : words.joined(separator: ", ")
    }

    private func text(of attribute: Attribute) -> String {
        let committed = withRow { $0.value(at: attribute.slot, of: $1) }
        guard let value = unsavedAttribute(at: attribute.slot) else {
            return committed?.text ?? (isFulfilled ? shape.defaultValues[attribute.slot].text : "fault")
        }
        guard let committed, committed != value, !attribute.isTransient else { return value.text }
        return "\(value.text) (was \(committed.text))"
    }

    private func text(of relationship: Relationship) -> String {
        let slot = relationship.slot
        guard relationship.isToMany else {
            func text(_ id: ObjectID?) -> String { id?.description ?? "nil" }
            guard let id = unsavedDestinationID(at: slot) else {
                return hasRow ? text(storedDestinationID(at: slot)) : isInserted ? "nil" : "fault"
            }
            guard hasRow, storedDestinationID(at: slot) != id else { return text(id) }
            return "\(text(id)) (was \(text(storedDestinationID(at: slot))))"
        }
        let list = managedObjectContext?.cache.list(of: storedID, at: slot)
        guard let change = changes?.values.toMany[slot] else {
            return list.map { "\($0.count) objects" } ?? (isInserted ? "0 objects" : "fault")
        }
        let (added, removed) = change.differences
        let members =
            change.list?.count ?? list.map { change.applied(to: $0).count } ?? (isInserted ? added.count : nil)
        return (members.map { "\($0) objects" } ?? "fault") + " (\(added.count) added, \(removed.count) removed)"
    }
}

extension ManagedObjectContext: CustomDebugStringConvertible {
    /// Name, parent, the numbers of objects, what waits for the next save, and the options that differ.
    public var debugDescription: String {
        var parts = [
            "\(memory.registry.count) objects", "\(memory.inserted.count) inserted", "\(memory.updated.count) updated",
            "\(memory.deleted.count) deleted", "\(memory.faultTrips) fault trips", "\(memory.rowsFetched) rows fetched",
        ]
        if !recorded.isEmpty { parts.append("\(recorded.count) recorded violations") }
        if generation.isPinned { parts.append("pinned to a generation") }
        if journal != nil { parts.append("with an undo manager") }
        if stage != nil { parts.append(isInTransaction ? "in a transaction" : "saving") }
        let kind = parent == nil ? "context" : "child of " + (parent?.name.map { "context \"\($0)\"" } ?? "a context")
        return "\(kind)\(name.map { " \"\($0)\"" } ?? ""): " + parts.joined(separator: ", ")
    }
}

extension UndoStack: CustomDebugStringConvertible {
    /// The open groups, the numbers of groups with the names of the next ones, and what differs from a new one.
    public var debugDescription: String {
        func text(_ count: Int, _ verb: String, _ name: String) -> String {
            "\(count) to \(verb)" + (name.isEmpty ? "" : ", next \"\(name)\"")
        }
        var parts = [text(undoCount, "undo", undoActionName), text(redoCount, "redo", redoActionName)]
        if groupingLevel > 0 { parts.append("level \(groupingLevel)") }
        if levelsOfUndo > 0 { parts.append("at most \(levelsOfUndo)") }
        if !groupsByEvent { parts.append("without groups by event") }
        if !isUndoRegistrationEnabled { parts.append("registration disabled") }
        if isUndoing || isRedoing { parts.append(isUndoing ? "undoing" : "redoing") }
        return "undo manager: " + parts.joined(separator: ", ")
    }
}

extension PersistentStoreCoordinator: CustomDebugStringConvertible {
    /// The entities of the model, and each store with its kind and its file.
    public var debugDescription: String {
        let stores = persistentStores.map { store in
            "\(store.type.rawValue) \(store.path ?? "without a file")" + (store.isReadOnly ? ", read-only" : "")
        }
        let head = "coordinator of \(managedObjectModel.entities.count) entities"
        return stores.isEmpty ? head + ", without stores" : head + ":\n  " + stores.joined(separator: "\n  ")
    }
}

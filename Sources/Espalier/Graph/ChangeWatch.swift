// The unsaved values of the changed objects while hooks validate them: a save may write them once no hook sets others.
//
// Invariants
//   1. The watch is quiet as long as each hook, when it returns, leaves the values and the lists of changed objects
//      that there were when the watch began. This does not depend on the order in which the hooks are called.
//   2. The cost after a hook is that of the objects that it has changed, however many destinations a to-many
//      relationship without order has gained and lost before. All objects are compared only after a change that the
//      context has counted for no single object.
//   3. Values are the same if a store keeps the same bytes of them.

import EspalierModel
import EspalierStore
import FoundationEssentials

/// Finds out whether hooks set other values than those that are there already.
///
/// Transient values do not count: no store gets them.
final class ChangeWatch {
    /// The values of a changed object, shared with it until it changes (`ManagedObject.changeable`).
    private struct Former {
        let object: ManagedObject
        let newValues: RowValues?
        let changes: ObjectChanges?
        let lists: ManagedObject.State

        init(_ object: ManagedObject) {
            object.newValues?.share()
            object.changes?.values.toMany.modifyAll { $0.keepSums() }
            object.changes?.isShared = true
            (self.object, newValues, changes) = (object, object.newValues, object.changes)
            lists = object.state.intersection(ChangeWatch.lists)
        }

        /// Whether the object still has these values, set again or not, and is in the same list of changed objects.
        var isCurrent: Bool {
            assert(StepCount.note())
            return object.state.intersection(ChangeWatch.lists) == lists
                && object.hasSameNewValues(as: newValues) && object.hasSameChanges(as: changes)
        }
    }

    /// The flags that say in which list of changed objects an object is.
    private static let lists: ManagedObject.State = [.inserted, .updated, .deleted]

    private let formers: [Former]
    private let positions: [ManagedObject: Int]
    /// The objects that have changed since the last check.
    private var touched = Set<ManagedObject>()
    /// The number of changes of `touched`.
    private var noteCount = 0
    /// The changes that the context had counted at the last check.
    private var changeCount: Int
    /// Whether no hook has set another value, or has changed the lists of changed objects.
    private(set) var isQuiet = true

    /// Begins a watch over the changed objects of a context.
    ///
    /// - Complexity: O(changed objects and their added and removed destinations).
    init(_ changes: ChangeSet, in context: ManagedObjectContext) {
        // A hook that only reads a relationship of a new object applies these.
        context.applyUnreadInverses()
        formers = changes.all.map { Former($0) }
        positions = Dictionary(uniqueKeysWithValues: formers.enumerated().map { ($1.object, $0) })
        changeCount = context.changeCount
    }

    /// Notes a change that the context has counted for one object.
    func note(_ object: ManagedObject) {
        guard isQuiet else { return }
        noteCount += 1
        touched.insert(object)
    }

    /// Compares the objects that a hook has changed, after it has returned.
    ///
    /// - Complexity: O(values of the changed objects, and the destinations of ordered relationships whose order has
    ///   changed); O(1) if the hook has set none.
    func check(_ context: ManagedObjectContext) {
        guard isQuiet, context.changeCount != changeCount else { return }
        // The objects are released after the access: freeing one may run code that changes others.
        let (changed, isComplete) = (touched, context.changeCount &- changeCount == noteCount)
        defer { withExtendedLifetime(changed) {} }
        (touched, noteCount, changeCount) = ([], 0, context.changeCount)
        context.applyUnreadInverses()
        isQuiet =
            isComplete
            ? changed.allSatisfy(isAsBefore) : formers.allSatisfy(\.isCurrent) && hasSameCount(as: context)
    }

    private func isAsBefore(_ object: ManagedObject) -> Bool {
        positions[object].map { formers[$0].isCurrent } ?? object.state.isDisjoint(with: Self.lists)
    }

    private func hasSameCount(as context: ManagedObjectContext) -> Bool {
        formers.count == context.memory.inserted.count + context.memory.updated.count + context.memory.deleted.count
    }
}

extension ManagedObject {
    fileprivate func hasSameNewValues(as former: RowValues?) -> Bool {
        guard let newValues, let former else { return newValues == nil && former == nil }
        if newValues.isSame(as: former) { return true }
        return newValues.destinations == former.destinations
            && entity.attributes.allSatisfy { attribute in
                attribute.isTransient
                    || newValues.attribute(at: attribute.slot).isSame(as: former.attribute(at: attribute.slot))
            }
    }

    fileprivate func hasSameChanges(as former: ObjectChanges?) -> Bool {
        if changes === former { return true }
        let (now, before) = (changes?.values ?? .init(), former?.values ?? .init())
        func stored(_ values: ObjectChanges.Values) -> [(slot: Int, value: AttributeValue)] {
            values.attributes.pairs.filter { !entity.attributes[$0.slot].isTransient }
        }
        return stored(now).elementsEqual(stored(before)) { now, former in
            now.slot == former.slot && now.value.isSame(as: former.value)
        }
            && now.destinations.pairs.elementsEqual(before.destinations.pairs) { $0 == $1 }
            && now.toMany.pairs.elementsEqual(before.toMany.pairs) { now, former in
                now.slot == former.slot && now.value.hasSameDestinations(as: former.value)
            }
    }
}

extension ToManyChange {
    fileprivate func hasSameDestinations(as other: ToManyChange) -> Bool {
        guard isWhole || other.isWhole else {
            return added.hasSameIDs(as: other.added) && removed.hasSameIDs(as: other.removed)
        }
        if hasSameOrder(as: other) { return true }
        let (now, before) = (list, other.list)
        assert(StepCount.note(now?.count ?? 0))
        return now == before
    }
}

extension AttributeValue {
    /// Whether a store would keep the same for both: unlike `==`, bytes of texts and signs of zeros count, and all
    /// values that are no numbers are one.
    fileprivate func isSame(as other: AttributeValue) -> Bool {
        switch (self, other) {
        case (.double(let one), .double(let other)): one.isStored(as: other)
        case (.float(let one), .float(let other)): one.bitPattern == other.bitPattern || one.isNaN && other.isNaN
        case (.decimal(let one), .decimal(let other)): one == other || one.isNaN && other.isNaN
        case (.date(let one), .date(let other)):
            one.timeIntervalSinceReferenceDate.isStored(as: other.timeIntervalSinceReferenceDate)
        case (.string(let one), .string(let other)): one.isStored(as: other)
        case (.uri(let one), .uri(let other)): one.absoluteString.isStored(as: other.absoluteString)
        case (.composite(let one), .composite(let other)):
            one.count == other.count
                && one.allSatisfy { name, value in other[name].map { value.isSame(as: $0) } ?? false }
        default: self == other
        }
    }
}

extension Double {
    fileprivate func isStored(as other: Double) -> Bool { bitPattern == other.bitPattern || isNaN && other.isNaN }
}

extension String {
    fileprivate func isStored(as other: String) -> Bool { utf8.elementsEqual(other.utf8) }
}

// The rows that cascades reach and that have no object in memory: the store deletes them in the next save (MC-14).
//
// Invariants
//   1. No row of `rows` has an object. An object that is made for one takes it out, and is deleted from its beginning
//      (`RowObjectMaker`).
//   2. Unless `isIncomplete`, `rows` has all rows that cascades from the deleted objects of the context reach.
//   3. If a stored destination of an object in memory is deleted, or one of `rows`, and the rule that empties the
//      relationship has not changed the object, the relationship is one of `ends`.
//   4. Each change of what is taken out of relationships begins another edition (`HiddenPlaces`).
// A deletion that is followed by a save costs nothing here: the cascades are followed only when something asks
// (+Cascades).

import EspalierModel
import EspalierStore

/// The consequences of deletions for rows that are not in memory.
struct ReachedRows {
    /// A relationship as the objects at one of its ends have it.
    private struct End: Hashable {
        let declaredBy: ManagedObjectModel.EntityIndex
        let slot: Int

        init(_ relationship: Relationship) { (declaredBy, slot) = (relationship.declaredBy, relationship.slot) }
    }

    /// The rows; some may be missing while `isIncomplete`.
    private(set) var rows = RowSet()
    /// Whether there are rows: a flag, because it is asked for each object that is made.
    private(set) var hasRows = false
    /// Whether cascades have reached rows: only the store knows which rows a save will delete.
    private(set) var leavesCascades = false
    /// Whether a relationship of an object in memory may lead to what is deleted, without a change of the object.
    private(set) var isActive = false
    /// Counts the changes of what is taken out of relationships; never goes back.
    private(set) var edition = 0
    /// Whether the rows were read in another generation, or the cascades of a deletion that was taken back reach them.
    private var isStale = false
    /// Deleted objects from which cascades lead to rows, and whose cascades were not followed.
    private var starts: [ManagedObject] = []
    private var ends = Set<End>()
    /// The entities of deleted objects from which cascades lead.
    private var sources = Set<ManagedObjectModel.EntityIndex>()
    /// The one that was noted last: objects of one entity are mostly deleted one after the other.
    private var lastSource: ManagedObjectModel.EntityIndex?
    /// The entities of which cascades from objects of `sources` can reach rows, directly or through others.
    private var targets = Set<ManagedObjectModel.EntityIndex>()

    /// Whether cascades have to be followed before `rows` has all rows.
    var isIncomplete: Bool { isStale || !starts.isEmpty }

    func contains(_ id: ObjectID) -> Bool { hasRows && rows.contains(id) }

    /// Whether cascades may reach rows of one of these entities.
    func mayReach(_ entities: [ManagedObjectModel.EntityIndex]) -> Bool {
        leavesCascades && entities.contains(where: targets.contains)
    }

    /// Whether stored destinations of a relationship may be deleted without a change of the objects that have it.
    func hides(_ relationship: Relationship) -> Bool { ends.contains(End(relationship)) }

    // MARK: Rules

    /// Notes that the rules of a deleted object run, and take it out of relationships.
    mutating func noteRules() { edition &+= 1 }

    /// Notes that a rule empties a relationship of objects that are not in memory.
    mutating func noteEnd(_ relationship: Relationship) {
        ends.insert(End(relationship))
        isActive = true
    }

    /// Notes that a cascade leads from a deleted object to rows that are not in memory.
    ///
    /// - Parameter inverse: the relationship of these rows that leads back, if there is one.
    mutating func noteStart(_ object: ManagedObject, inverse: Relationship?) {
        (leavesCascades, isActive) = (true, true)
        if let inverse { noteEnd(inverse) }
        // All cascades are followed again.
        if isStale || starts.last === object { return }
        starts.append(object)
    }

    /// Notes that cascades lead from deleted objects of an entity.
    ///
    /// - Complexity: O(1), and O(entities that cascades reach, and their relationships) for the first object.
    mutating func noteSource(_ entity: Entity, in model: ManagedObjectModel) {
        guard lastSource != entity.index else { return }
        lastSource = entity.index
        guard sources.insert(entity.index).inserted else { return }
        var next = [entity.index]
        var seen: Set = [entity.index]
        while let index = next.popLast() {
            for relationship in model.entities[index].relationships where relationship.deleteRule == .cascade {
                for target in model.destination(of: relationship).family {
                    targets.insert(target)
                    if seen.insert(target).inserted { next.append(target) }
                }
            }
        }
    }

    // MARK: Rows

    /// Adds a row; returns whether it is a new one.
    mutating func insert(_ id: ObjectID) -> Bool {
        hasRows = true
        guard rows.insert(id) else { return false }
        edition &+= 1
        return true
    }

    /// Takes out a row for which an object is made; returns whether the set had it.
    mutating func remove(_ id: ObjectID) -> Bool {
        guard rows.contains(id) else { return false }
        rows.remove(id)
        hasRows = !rows.isEmpty
        return true
    }

    /// Forgets the rows: cascades are followed again from all deleted objects.
    ///
    /// Each call that takes a deletion back calls it: the object is not taken out of relationships any more.
    mutating func forgetRows() {
        edition &+= 1
        guard leavesCascades else { return }
        (rows, hasRows, isStale) = (RowSet(), false, true)
    }

    /// Takes the place of what was known before.
    mutating func succeed(_ former: ReachedRows) { edition = former.edition &+ 1 }

    /// Returns the deleted objects whose cascades were not followed, and whether those of all others have to be
    /// followed again.
    mutating func takeStarts() -> (objects: [ManagedObject], hasOthers: Bool) {
        // The caller releases the objects, after the access.
        defer { (starts, isStale) = ([], false) }
        return (starts, isStale)
    }
}

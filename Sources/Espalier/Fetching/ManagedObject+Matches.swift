// Conditions on objects in memory: the counterpart of NSPredicate's evaluate(with:).
//
// Invariants
//   1. A condition holds for an object exactly if a fetch with it finds the object; only here it may also read
//      transient attributes, of which no store has values.

public import EspalierModel

extension ManagedObject {
    /// Whether a condition holds for the object, with its unsaved values (PR-12).
    ///
    /// It holds exactly if a fetch with the condition finds the object, apart from three cases: the properties of the
    /// object's own entity may be named even if the class at hand is that of a superentity, a deleted object has its
    /// last values, and transient attributes are read, which a fetch refuses (PX-02). A fault is not fired; its row is
    /// read. Only a transient attribute fires it, because the hook `awakeFromFetch` may set that.
    ///
    /// - Throws: `ContextError.invalidPredicate` if the condition does not fit the entity, has a variable without a
    ///   value, or a pattern takes too many steps; `.objectWithoutContext` and `.contextEnded`; `.store` if a row
    ///   cannot be read.
    /// - Complexity: O(length of the condition) if the rows are in memory, to resolve and to test it. For many objects,
    ///   `filter(_:)` of a sequence resolves it once.
    public final func matches(_ predicate: FetchPredicate) throws(ContextError) -> Bool {
        var test = ObjectTest(predicate)
        return try test.passes(self)
    }
}

extension Sequence where Element: ManagedObject {
    /// The objects for which a condition holds, in their order (PR-12).
    ///
    /// ```swift
    /// let long = try album.tracks.filter(FetchPredicate(format: "seconds > 300"))
    /// ```
    ///
    /// - Throws: as `ManagedObject.matches(_:)`.
    /// - Complexity: O(objects), if their rows are in memory.
    public func filter(_ predicate: FetchPredicate) throws(ContextError) -> [Element] {
        var test = ObjectTest(predicate)
        var found: [Element] = []
        for object in self where try test.passes(object) { found.append(object) }
        return found
    }
}

/// A condition that is resolved once for each entity.
private struct ObjectTest {
    private let predicate: FetchPredicate
    private var resolved: [ObjectIdentifier: ResolvedPredicate] = [:]
    private var reading = ObjectReading()

    init(_ predicate: FetchPredicate) { self.predicate = predicate }

    mutating func passes(_ object: ManagedObject) throws(ContextError) -> Bool {
        let context = try reading.context(of: object)
        let subject = GraphSubject(object: object)
        let key = ObjectIdentifier(object.entity)
        if let known = resolved[key] { return try known.evaluate(on: subject) }
        let new: ResolvedPredicate
        do { new = try ResolvedPredicate(inMemory: predicate, for: object.entity, in: context.model) } catch {
            throw .invalidPredicate(error)
        }
        resolved[key] = new
        return try new.evaluate(on: subject)
    }
}

/// The contexts of objects that are tested or sorted in memory.
struct ObjectReading {
    /// The context whose pending changes were processed last.
    private var processed: ManagedObjectContext?

    /// The context of an object, whose pending changes are processed before the first of its objects is read.
    ///
    /// - Throws: `ContextError.contextEnded` or `.objectWithoutContext`.
    mutating func context(of object: ManagedObject) throws(ContextError) -> ManagedObjectContext {
        if object.isContextEnded { throw .contextEnded(object.storedID) }
        guard let context = object.managedObjectContext else { throw .objectWithoutContext(object.storedID) }
        if processed !== context {
            // A fetch does so too: the effects of delete rules are values of other objects.
            context.mergeAndRunDeleteRules()
            processed = context
        }
        return context
    }
}

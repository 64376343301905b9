// A typed reference: the ID of an object together with its class, which may cross from one context to another (F-1).
//
// Invariants
//   1. A reference holds an ID only, so it is Sendable, retains no object, and keeps nothing in memory.
//   2. The class is checked where the reference is resolved: a wrong one is an error there, never an object of another
//      class.

public import EspalierModel

/// A reference to an object of a known class, for another context, actor or process (F-1).
///
/// Objects stay in their context; a reference goes anywhere. Resolve it in the context where the object is needed:
///
/// ```swift
/// let ref = Ref(track)  // on the main actor
/// try await background.perform { context in
///     let track = try context[ref]  // the object of this context, as a Track
///     track.plays += 1
///     try context.save()
/// }
/// ```
///
/// The reference has the ID that the object has at this moment. An object that is not saved yet has a temporary ID,
/// which only its own context and the children of that understand, and only until the save. Save the object first, or
/// give it its permanent ID by `obtainPermanentIDs(for:)`.
public struct Ref<Object: ManagedObject>: Hashable, Sendable {
    /// The ID of the object.
    public let id: ObjectID

    /// Makes a reference to an object.
    public init(_ object: Object) { id = object.objectID }

    /// Makes a reference from an ID, which must be of an object of this class.
    ///
    /// The call checks nothing. If the object is of another class, resolving the reference throws
    /// `ContextError.wrongResultType`.
    public init(_ id: ObjectID) { self.id = id }
}

extension Ref: Codable {
    /// Encodes the ID.
    ///
    /// - Throws: as `ObjectID.encode(to:)`.
    public func encode(to encoder: any Encoder) throws { try id.encode(to: encoder) }

    /// Decodes the ID.
    ///
    /// - Throws: as `ObjectID.init(from:)`.
    public init(from decoder: any Decoder) throws { id = try ObjectID(from: decoder) }
}

extension Ref: CustomStringConvertible {
    /// The class and the URI of the ID.
    public var description: String { "\(Object.self) \(id)" }
}

extension Ref: PredicateArgument {
    /// The ID of the object.
    public var predicateExpression: FetchExpression { id.predicateExpression }
}

extension ManagedObject: PredicateArgument {
    /// The ID that the object has at this moment (ID-08, PR-14).
    ///
    /// A predicate that was made with a new object does not find it any more after the save, which gives the object
    /// another ID: make the predicate again.
    public final var predicateExpression: FetchExpression { objectID.predicateExpression }
}

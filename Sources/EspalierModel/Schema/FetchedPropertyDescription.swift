// A developer's description of a fetched property: a request that belongs to an entity and is made for each object.
//
// Invariants
//   1. Stores do not keep fetched properties, and version hashes do not cover them: they change no row.
// Not here: the request for one object (ResolvedFetchedProperty).

/// A property whose value is the result of a request (FR-24).
///
/// The condition may use two variables (PR-15): `$FETCH_SOURCE` is the object that has the property, as in
/// `genre == $FETCH_SOURCE.genre AND SELF != $FETCH_SOURCE`; `$FETCHED_PROPERTY` is this description, with
/// `$FETCHED_PROPERTY.name`, `$FETCHED_PROPERTY.entity.name` and the texts of `$FETCHED_PROPERTY.userInfo`.
public struct FetchedPropertyDescription: Sendable, Hashable, Codable {
    /// One criterion of the order of the results.
    public struct SortElement: Sendable, Hashable, Codable {
        /// The attribute of the results, directly or across to-one relationships.
        public var keyPath: String
        /// Whether smaller values come first.
        public var isAscending: Bool
        /// The options for comparing text.
        public var options: ComparisonOptions

        /// Describes a criterion.
        public init(_ keyPath: String, isAscending: Bool = true, options: ComparisonOptions = []) {
            (self.keyPath, self.isAscending, self.options) = (keyPath, isAscending, options)
        }
    }

    /// The name, unique among all properties of the entity and its superentities.
    public var name: String
    /// The name of the entity whose objects are fetched.
    public var destination: String
    /// The text of the condition; `nil` = all objects.
    public var predicateFormat: String?
    /// The order of the results, most significant criterion first; empty = undefined order.
    public var sortElements: [SortElement]
    /// The greatest number of results; 0 = no limit.
    public var fetchLimit: Int
    /// Whether the results include objects of subentities.
    public var includesSubentities: Bool
    /// Whether the request includes unsaved changes of the context.
    public var includesPendingChanges: Bool
    /// The application's own texts (MD-15).
    public var userInfo: [String: String]

    /// Describes a fetched property.
    public init(
        _ name: String, of destination: String, predicateFormat: String? = nil,
        sortedBy sortElements: [SortElement] = [],
        fetchLimit: Int = 0, includesSubentities: Bool = true, includesPendingChanges: Bool = true,
        userInfo: [String: String] = [:]
    ) {
        self.name = name
        self.destination = destination
        self.predicateFormat = predicateFormat
        self.sortElements = sortElements
        self.fetchLimit = fetchLimit
        self.includesSubentities = includesSubentities
        self.includesPendingChanges = includesPendingChanges
        self.userInfo = userInfo
    }
}

extension ModelChecker {
    /// Checks what a fetched property says of other entities; its condition is checked when those are resolved.
    mutating func checkFetchedProperty(_ property: FetchedPropertyDescription, of entity: EntityDescription) {
        if self.entity(named: property.destination) == nil {
            let hint = hint(property.destination, among: descriptions.map(\.name))
            report(
                entity.name, property.name,
                "fetches objects of the entity '\(property.destination)', which does not exist\(hint)")
        }
        if property.fetchLimit < 0 {
            report(
                entity.name, property.name,
                "has the limit \(property.fetchLimit); it cannot be negative, 0 means no limit")
        }
    }
}

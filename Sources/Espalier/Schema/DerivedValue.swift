// The rules of derived attributes as classes write them: with key paths, which the compiler checks.
//
// Invariants
//   1. The macro makes a `Derivation` with the same cases and labels of each rule, with names instead of key paths.

public import FoundationEssentials

/// The rule by which stores compute the value of an attribute, in `@Attribute(.derived(…))` (MD-27).
///
/// A key path names one property, of the class itself or across one to-one relationship, as in `\Track.album?.title`.
public struct DerivedValue: Sendable, Hashable {
    private init() {}

    /// The value at a path.
    public static func value<Root: ManagedObject, Value>(of path: KeyPath<Root, Value>) -> DerivedValue {
        DerivedValue()
    }
    /// The text at a path without case and diacritics, in canonical composition.
    public static func canonical<Root: ManagedObject, Value>(of path: KeyPath<Root, Value>) -> DerivedValue {
        DerivedValue()
    }
    /// The text at a path in lower case.
    public static func lowercase<Root: ManagedObject, Value>(of path: KeyPath<Root, Value>) -> DerivedValue {
        DerivedValue()
    }
    /// The text at a path in upper case.
    public static func uppercase<Root: ManagedObject, Value>(of path: KeyPath<Root, Value>) -> DerivedValue {
        DerivedValue()
    }
    /// The number of destinations of a to-many relationship, or of those for which a condition on their own values
    /// holds (C-16): a format as `FetchPredicate` parses it.
    public static func count<Root: ManagedObject, Value>(
        of relationship: KeyPath<Root, Value>, where condition: String? = nil
    ) -> DerivedValue { DerivedValue() }
    /// The number of those destinations of a to-many relationship for which a predicate on their own values holds:
    /// `.count(of: \Album.tracks, matching: #Predicate<Track> { $0.plays > 10 })`.
    public static func count<Root: ManagedObject, Value, Destination: ManagedObject>(
        of relationship: KeyPath<Root, Value>, matching predicate: Predicate<Destination>
    ) -> DerivedValue { DerivedValue() }
    /// The sum of an attribute of the destinations of a to-many relationship.
    public static func sum<Root: ManagedObject, Value, Owner: ManagedObject, List>(
        of attribute: KeyPath<Root, Value>, in relationship: KeyPath<Owner, List>
    ) -> DerivedValue { DerivedValue() }
    /// The average of an attribute of the destinations of a to-many relationship.
    public static func average<Root: ManagedObject, Value, Owner: ManagedObject, List>(
        of attribute: KeyPath<Root, Value>, in relationship: KeyPath<Owner, List>
    ) -> DerivedValue { DerivedValue() }
    /// The least value of an attribute of the destinations of a to-many relationship.
    public static func minimum<Root: ManagedObject, Value, Owner: ManagedObject, List>(
        of attribute: KeyPath<Root, Value>, in relationship: KeyPath<Owner, List>
    ) -> DerivedValue { DerivedValue() }
    /// The greatest value of an attribute of the destinations of a to-many relationship.
    public static func maximum<Root: ManagedObject, Value, Owner: ManagedObject, List>(
        of attribute: KeyPath<Root, Value>, in relationship: KeyPath<Owner, List>
    ) -> DerivedValue { DerivedValue() }
    /// The time of the last save that inserted or changed the object.
    public static var now: DerivedValue { DerivedValue() }
}

// How the value of a derived attribute follows from other values; a plain value, which is checked only as part of a
// whole model.
//
// Not here: Core Data's spelling (Derivation+Expression), names bound to slots (ResolvedDerivation).

/// The rule by which stores compute the value of an attribute (Behaviour MD-27).
///
/// A path is the name of an attribute of the object itself, or `relationship.attribute` across one to-one relationship.
/// The source may be derived itself, so that rules can build on one another.
public enum Derivation: Sendable, Hashable, Codable {
    /// The value at a path.
    case value(of: String)
    /// The text at a path without case and diacritics, in canonical composition.
    case canonical(of: String)
    /// The text at a path in lower case.
    case lowercase(of: String)
    /// The text at a path in upper case.
    case uppercase(of: String)
    /// The number of destinations of a to-many relationship; with a condition, of those for which it holds (C-16).
    ///
    /// The condition is a format that `FetchPredicate` parses. It reads attributes of the destination itself and
    /// whether its to-one relationships lead to objects. It has no MATCHES, no `[w]`, no `characterCount` and no
    /// `now()`, because a store could not keep its answers.
    case count(of: String, where: String? = nil)
    /// The sum of an attribute of the destinations of a to-many relationship; 0 without destinations.
    case sum(of: String, in: String)
    /// The average of an attribute of the destinations of a to-many relationship; no value without destinations.
    case average(of: String, in: String)
    /// The least value of an attribute of the destinations of a to-many relationship.
    case minimum(of: String, in: String)
    /// The greatest value of an attribute of the destinations of a to-many relationship.
    case maximum(of: String, in: String)
    /// The time of the last save that inserted or changed the object.
    case now
}

extension Attribute {
    /// The rule by which stores compute the value; `nil` for an attribute that the application sets.
    public var derivation: Derivation? { description.derivation }
    /// Whether stores compute the value.
    package var isDerived: Bool { description.derivation != nil }
}

extension AttributeDescription {
    /// Whether stores can compute the values from others at any time; the time of a save is not among them.
    package var isComputed: Bool { derivation.map { $0 != .now } ?? false }
}

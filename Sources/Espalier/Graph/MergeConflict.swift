// A conflict as a save reports it, and as a merge policy of the application's own is asked about it: the values of both
// sides, and those from which both started.

public import EspalierModel

/// An object that has changed both in the context and in the store (MP-07).
///
/// A failed save reports the first 1,000 conflicts in full, and the number of the others (`moreCount`). A refresh
/// settles those that are reported in full; the next save reports the others.
public struct MergeConflict: Sendable, CustomStringConvertible {
    /// A property whose values differ.
    public struct Property: Sendable {
        /// The name.
        public let name: String
        /// The value from which both sides started; `nil` if it is not known.
        public let base: AttributeValue?
        /// The value in the context.
        public let mine: AttributeValue
        /// The value in the store; `nil` if the row is deleted.
        public let stored: AttributeValue?
        /// The destinations of a to-many relationship, which has no values.
        ///
        /// An error has them if both sides have reordered a list; a merge policy is told them for each to-many
        /// relationship that the context has changed.
        public let destinations: Destinations?

        init(name: String, base: AttributeValue?, mine: AttributeValue, stored: AttributeValue?) {
            (self.name, self.base, self.mine, self.stored, destinations) = (name, base, mine, stored, nil)
        }

        init(name: String, _ destinations: Destinations) {
            (self.name, base, mine, stored, self.destinations) = (name, nil, .null, .null, destinations)
        }
    }
    /// The destinations of a to-many relationship on both sides.
    public struct Destinations: Sendable, Hashable {
        /// Those from which both sides started.
        public let base: [ObjectID]
        /// Those in the context.
        public let mine: [ObjectID]
        /// Those in the store.
        public let stored: [ObjectID]
    }
    /// An object whose conflict a report only counts.
    struct Counted: Sendable {
        let object: ObjectID
        /// The version in the store; `nil` if the row is deleted.
        let newVersion: UInt64?
    }
    /// The ID of the object.
    public let object: ObjectID
    /// Whether this context deletes the object.
    public let isDeletedHere: Bool
    /// The version that the context has read; 0 for a new object.
    public let oldVersion: UInt64
    /// The version in the store; `nil` if the row is deleted.
    public let newVersion: UInt64?
    /// The properties whose values differ between context and store; the values of to-one relationships are object IDs.
    public let properties: [Property]
    /// The destinations of the object that another context or process has deleted, if that is the conflict.
    public let missingDestinations: [ObjectID]
    /// The objects for which this last conflict of a report stands, `object` among them; empty for every other one.
    let others: [Counted]
    /// 0, or the number of conflicts for which this last one of a report stands: those of `object` and of others.
    ///
    /// It has no properties then.
    public var moreCount: Int { others.count }
    /// The objects whose conflicts this one tells or counts.
    var reported: [Counted] { others.isEmpty ? [Counted(object: object, newVersion: newVersion)] : others }

    init(
        object: ObjectID, isDeletedHere: Bool, oldVersion: UInt64, newVersion: UInt64?, properties: [Property],
        missingDestinations: [ObjectID] = []
    ) {
        (self.object, self.isDeletedHere, self.properties) = (object, isDeletedHere, properties)
        (self.oldVersion, self.newVersion) = (oldVersion, newVersion)
        self.missingDestinations = missingDestinations
        others = []
    }

    /// The conflict that stands for those which a report only counts; `nil` if there are none.
    init?(_ others: [Counted]) {
        guard let first = others.first else { return nil }
        (object, isDeletedHere, properties, missingDestinations) = (first.object, false, [], [])
        (oldVersion, newVersion) = (0, first.newVersion)
        self.others = others
    }

    /// The property of this name, if its values differ.
    ///
    /// - Complexity: O(`properties`).
    public subscript(name: String) -> Property? { properties.first { $0.name == name } }

    /// The way to correct it, as a sentence without its end.
    public var remedy: String {
        if moreCount > 0 { return "correct the reported ones and save again to see them" }
        if newVersion == nil { return "delete the object here too, or set a merge policy that inserts it again" }
        if !missingDestinations.isEmpty {
            return "relate objects that are not deleted, or set a merge policy that decides"
        }
        return "call refresh(_:mergesChanges:) for the object and save again, or set a merge policy that decides"
    }

    /// One line with all values and the way to correct it.
    public var description: String { "\(facts); \(remedy)" }

    private var facts: String {
        if moreCount > 0 { return "and \(moreCount) more objects, \(object) among them" }
        guard let newVersion else { return "\(object): read at version \(oldVersion), deleted in the store" }
        let values = properties.map { property in
            if let destinations = property.destinations {
                return "\(property.name): \(destinations.mine.count) destinations, reordered here and in the store"
            }
            return "\(property.name): here \(property.mine.text), in the store \(property.stored?.text ?? "nothing"), "
                + "originally \(property.base?.text ?? "an unknown value")"
        }
        let here = oldVersion == 0 ? "inserted again here" : "read at version \(oldVersion)"
        return "\(object): \(here), \(isDeletedHere ? "deleted here, " : "")"
            + "version \(newVersion) in the store" + (values.isEmpty ? "" : "; " + values.joined(separator: "; "))
    }
}

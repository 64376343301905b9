// The report of an import from Core Data: its results, and everything that it could not read.
//
// Invariants
//   1. Nothing is left out silently: each value, destination and row that does not arrive is a finding, and counted.

/// A part of a store of Core Data that was not imported.
public struct CoreDataImportFinding: Hashable, Sendable, CustomStringConvertible {
    /// The kinds of findings.
    public enum Kind: String, Hashable, Sendable, CaseIterable {
        /// A value that its attribute does not have: of another type, out of range, or text that is no text.
        case value
        /// The value of a file beside the store that is missing or too large.
        case externalFile
        /// A relationship leads to a row that is not there, or not of the right entity.
        case destination
        /// Both ends of a relationship contradict each other.
        case inverse
        /// A value that must be unique, and that another row has: the row that was written first keeps it (MD-12).
        case constraint
        /// A row without a usable key or entity.
        case row
        /// A value in a column that no property of the row's entity has.
        case column
        /// A property that has no place in the store, or none that is certain.
        case property
        /// A value that an application has stored beside its objects.
        case metadata
    }

    /// The kind.
    public let kind: Kind
    /// The entity of the object; empty if there is none.
    public let entity: String
    /// The primary key of the object, as in the last part of its URI; 0 if there is none.
    public let key: Int64
    /// The property; empty if there is none.
    public let property: String
    /// A description of the fault.
    public let message: String

    /// `Entity/p7.property: message`.
    public var description: String {
        let object = entity + (key == 0 ? "" : "/p\(key)")
        return [object, property].filter { !$0.isEmpty }.joined(separator: ".") + ": " + message
    }
}

/// The result of an import.
public struct CoreDataImportReport: Sendable {
    /// The most findings that are listed.
    public static let listedCountMax = 1_000

    /// The UUID of the imported store; empty if it has none.
    public internal(set) var storeIdentifier = ""
    /// The number of objects by entity, for all entities that can have objects.
    public internal(set) var objectCounts: [String: Int] = [:]
    /// The number of destinations of to-one relationships.
    public internal(set) var destinationCount = 0
    /// The number of members that were written of to-many relationships with a list of their own: ordered ones, and
    /// those from many to many or without inverse.
    public internal(set) var memberCount = 0
    /// The tables that are not part of the objects, such as those of the history, by name.
    public internal(set) var ignoredTables: [String] = []
    /// Features of the model that Espalier does not have, and other facts that are no loss of data.
    public internal(set) var notes: [String] = []
    /// The first findings.
    public internal(set) var findings: [CoreDataImportFinding] = []
    /// The number of all findings.
    public internal(set) var findingCount = 0

    /// Whether everything arrived.
    public var isComplete: Bool { findingCount == 0 }

    mutating func add(
        _ kind: CoreDataImportFinding.Kind, _ entity: String, key: Int64 = 0, _ property: String,
        _ message: @autoclosure () -> String
    ) {
        findingCount += 1
        guard findings.count < Self.listedCountMax else { return }
        findings.append(
            CoreDataImportFinding(kind: kind, entity: entity, key: key, property: property, message: message()))
    }
}

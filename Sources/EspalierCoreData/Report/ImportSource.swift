// A store of Core Data as an import reads it, in any format: its rows and the members of its relationships.
//
// Invariants
//   1. Rows of a hierarchy come by ascending key, each once; a key is never 0.
//   2. Reading again gives the same rows and members; only the first time findings are reported.

import EspalierModel

/// A row, with the keys of its destinations instead of their IDs.
struct SourceRow {
    let entity: Entity
    let key: UInt64
    /// One for each attribute slot; empty if values were not asked for.
    let values: [AttributeValue]
    /// The keys of the destinations, by relationship slot; 0 if there is none, or the relationship is to-many.
    let destinations: [UInt64]
}

/// A destination of a to-many relationship.
struct SourceMember {
    let owner: UInt64
    /// Orders the destinations of one owner, if the relationship is ordered.
    let position: Int64
    let destination: UInt64
}

/// A store of Core Data.
protocol ImportSource: AnyObject {
    var model: ManagedObjectModel { get }
    /// The application's own values.
    var metadata: [String: AttributeValue] { get }
    /// The greatest key that was ever given to a row of a hierarchy.
    func lastKey(of root: Entity) -> UInt64
    /// Reads all rows of the hierarchy of `root`.
    func forEachRow(
        of root: Entity, withValues: Bool, _ report: inout CoreDataImportReport,
        _ body: (SourceRow, inout CoreDataImportReport) throws(CoreDataImportError) -> Void
    ) throws(CoreDataImportError)
    /// Reads all members of a relationship.
    ///
    /// - Parameter isFirst: whether findings are reported: members may be read several times.
    func forEachMember(
        of relationship: Relationship, isFirst: Bool, _ report: inout CoreDataImportReport,
        _ body: (SourceMember, inout CoreDataImportReport) throws(CoreDataImportError) -> Void
    ) throws(CoreDataImportError)
}

extension ManagedObjectModel {
    /// The topmost entities of all hierarchies.
    var roots: [Entity] { entities.filter { $0.root == $0.index } }

    /// Each relationship once, at the entity that declares it.
    var declaredRelationships: [Relationship] {
        entities.flatMap { entity in entity.relationships.filter { $0.declaredBy == entity.index } }
    }

    /// The topmost entity of the hierarchy to which a relationship leads.
    func destinationRoot(of relationship: Relationship) -> Entity { entities[destination(of: relationship).root] }
}

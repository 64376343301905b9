// Pegs with relationships of every kind, a store of them, and two contexts that have read all of them.

import Espalier
import EspalierModel
import EspalierStore
import Foundation
import Testing

/// An object with relationships of every kind, all of them to other pegs.
final class Peg: ManagedObject {
    override class var entityDescription: EntityDescription {
        EntityDescription(
            "Peg",
            properties: [
                EntityDescription._property("name", String.self),
                EntityDescription._property("a", Int.self, defaultValue: 0),
                EntityDescription._property("b", Int.self, defaultValue: 0),
                EntityDescription._property("best", Peg?.self, options: .init(inverse: "fans")),
                EntityDescription._property("fans", Set<Peg>.self, options: .init(inverse: "best")),
                EntityDescription._property("head", Peg?.self, options: .init(inverse: "queue")),
                EntityDescription._property("queue", [Peg].self, options: .init(inverse: "head")),
                EntityDescription._property("mate", Peg?.self, options: .init(inverse: "mateOf")),
                EntityDescription._property("mateOf", Peg?.self, options: .init(inverse: "mate")),
                EntityDescription._property("tags", Set<Peg>.self, options: .init(inverse: "tagged")),
                EntityDescription._property("tagged", Set<Peg>.self, options: .init(inverse: "tags")),
                EntityDescription._property("list", [Peg].self, options: .init(inverse: "listed")),
                EntityDescription._property("listed", Set<Peg>.self, options: .init(inverse: "list")),
            ])
    }
    var name: String {
        get { _get("name", at: 0) }
        set { _set("name", at: 0, newValue) }
    }
    var a: Int {
        get { _get("a", at: 1) }
        set { _set("a", at: 1, newValue) }
    }
    var b: Int {
        get { _get("b", at: 2) }
        set { _set("b", at: 2, newValue) }
    }
}

/// The state that a context or a store shows: for each peg, by its name, the values of its properties as texts.
///
/// Destinations are names, in their order for ordered relationships and sorted for all others.
typealias PegState = [String: [String: [String]]]

/// A store with pegs "0", "1" and so on.
final class PegBoard {
    static let attributes = ["a", "b"]
    /// Relationships, and which of them are to-one and which ordered.
    static let inverses = [
        "best": "fans", "fans": "best", "head": "queue", "queue": "head", "mate": "mateOf", "mateOf": "mate",
        "tags": "tagged", "tagged": "tags", "list": "listed", "listed": "list",
    ]
    static let toOnes: Set = ["best", "head", "mate", "mateOf"]
    static let ordered: Set = ["queue", "list"]

    private static let model = Result { try ManagedObjectModel(for: [Peg.self]) }

    let coordinator: PersistentStoreCoordinator
    private let folder: URL
    let mine: ManagedObjectContext
    let theirs: ManagedObjectContext

    init(_ kind: StoreKind, count: Int, _ base: [(String, String, [String])] = []) throws {
        coordinator = PersistentStoreCoordinator(managedObjectModel: try Self.model.get())
        folder = FileManager.default.temporaryDirectory.appending(path: "espalier-\(UUID().uuidString)")
        if kind == .inMemory {
            try coordinator.addPersistentStore(.inMemory)
        } else {
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            let path = folder.appending(path: "pegs.espalier").path
            try coordinator.addPersistentStore(PersistentStoreDescription(path: path))
        }
        (mine, theirs) = (ManagedObjectContext(coordinator), ManagedObjectContext(coordinator))
        let maker = ManagedObjectContext(coordinator)
        for number in 0..<count { Peg(context: maker).name = "\(number)" }
        try maker.save()
        for (peg, property, values) in base { try set(peg, property, values, in: maker) }
        try maker.save()
        for context in [mine, theirs] { _ = try state(of: context) }
    }

    deinit {
        for store in coordinator.persistentStores { try? store.close() }
        try? FileManager.default.removeItem(at: folder)
    }

    func pegs(_ context: ManagedObjectContext) throws -> [String: Peg] {
        let pegs = try context.fetch(FetchRequest<Peg>(sortedBy: [SortKey("name")]))
        return Dictionary(pegs.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
    }

    func peg(_ name: String, in context: ManagedObjectContext) throws -> Peg {
        try #require(try pegs(context)[name], "peg \(name)")
    }

    /// Sets a property of a peg to a number, or to the destinations of these names.
    func set(_ peg: String, _ property: String, _ values: [String], in context: ManagedObjectContext) throws {
        let pegs = try pegs(context)
        let object = try #require(pegs[peg])
        if Self.attributes.contains(property) {
            try object.setValue(.integer(Int64(values[0]) ?? 0), forKey: property)
        } else if Self.toOnes.contains(property) {
            try object.setValue(.toOne(values.first.flatMap { pegs[$0] }), forKey: property)
        } else {
            try object.setValue(.toMany(values.compactMap { pegs[$0] }), forKey: property)
        }
    }

    func state(of context: ManagedObjectContext) throws -> PegState {
        let pegs = try pegs(context)
        let names = Dictionary(pegs.map { ($1.objectID, $0) }, uniquingKeysWith: { first, _ in first })
        var state: PegState = [:]
        for (name, peg) in pegs {
            var values = ["a": ["\(peg.a)"], "b": ["\(peg.b)"]]
            for property in Self.inverses.keys {
                let found = try peg.objectIDs(forRelationshipNamed: property).map { names[$0] ?? "gone" }
                values[property] = Self.ordered.contains(property) ? found : found.sorted()
            }
            state[name] = values
        }
        return state
    }

    /// The state that a fresh context reads.
    func stored() throws -> PegState { try state(of: ManagedObjectContext(coordinator)) }

    /// The relationships whose other side lacks the peg, has it twice, or is deleted.
    static func oneSided(_ state: PegState) -> [String] {
        var wrong: [String] = []
        for (name, values) in state {
            for (property, inverse) in inverses {
                for other in values[property] ?? [] {
                    let back = state[other]?[inverse]?.filter { $0 == name }.count
                    if back != 1 { wrong.append("\(name).\(property) has \(other), which has \(back ?? -1) back") }
                }
            }
        }
        return wrong
    }

    /// The findings of the store's own check, dangling references included.
    func findings() throws -> [String] {
        guard let store = coordinator.persistentStores[0] as? BTreeStore else { return [] }
        let report = try store.check()
        return (report.findings + report.dangling).map { "\($0)" }
    }

    /// Requires both sides of all relationships to be equal, in the store and in `mine`, and `mine` to show the store.
    func expectAgreement(_ comment: Comment, sourceLocation: SourceLocation = #_sourceLocation) throws {
        let (stored, shown) = (try stored(), try state(of: mine))
        #expect(Self.oneSided(stored).isEmpty, comment, sourceLocation: sourceLocation)
        #expect(Self.oneSided(shown).isEmpty, comment, sourceLocation: sourceLocation)
        #expect(shown == stored, comment, sourceLocation: sourceLocation)
        #expect(try findings().isEmpty, comment, sourceLocation: sourceLocation)
        #expect(!mine.hasChanges && mine.recordedViolations.isEmpty, comment, sourceLocation: sourceLocation)
    }
}

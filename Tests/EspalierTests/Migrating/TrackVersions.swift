// Three versions of a model with one entity, and stores of them.

import Espalier
import EspalierModel
import EspalierStore

enum TrackVersions {
    /// Version 0 has lengths as texts; version 1 also has notes; in version 2 lengths are whole numbers.
    static func model(_ version: Int) throws -> ManagedObjectModel {
        var track = EntityDescription(
            "Track",
            attributes: [
                AttributeDescription("name", .string),
                AttributeDescription("length", version < 2 ? .string : .integer32),
            ])
        if version > 0 { track.attributes.append(AttributeDescription("note", .string)) }
        return try ManagedObjectModel(
            entities: [track], configurations: [ConfigurationDescription("Music", entities: ["Track"])])
    }

    /// Makes a store of a version, with one track for each length.
    static func makeStore(
        at path: String, _ lengths: [String], version: Int = 0, type: StoreType = .btree
    ) throws {
        try withContext(at: path, version: version, type: type) { context in
            for (number, length) in lengths.enumerated() {
                let track = try context.insertNewObject(forEntityName: "Track")
                try track.setValue(.string("track \(number)"), forKey: "name")
                try track.setValue(.string(length), forKey: "length")
            }
            try context.save()
        }
    }

    /// Opens a store of a version; throws if it has another version.
    static func withContext<Answer>(
        at path: String, version: Int, type: StoreType = .btree, _ body: (ManagedObjectContext) throws -> Answer
    ) throws -> Answer {
        let description = PersistentStoreDescription(type: type, path: path, migration: .off)
        let container = try PersistentContainer(model: try model(version), stores: [description])
        defer { try? container.close() }
        return try body(ManagedObjectContext(container.persistentStoreCoordinator))
    }

    static func tracks(_ context: ManagedObjectContext) throws -> [ManagedObject] {
        try context.fetch(FetchRequest<ManagedObject>(entityName: "Track", sortKeys: [SortKey("name")]))
    }

    /// The lengths in a store of a version, in the order of the names.
    static func lengths(at path: String, version: Int, type: StoreType = .btree) throws -> [AttributeValue] {
        try withContext(at: path, version: version, type: type) { context in
            try tracks(context).map { $0[attribute: "length"] }
        }
    }

    /// Removes from all lengths what is no digit.
    static let correctLengths: MigrationStage.Work = { context in
        for track in try tracks(context) {
            guard case .string(let length) = track[attribute: "length"] else { continue }
            try track.setValue(.string(length.filter(\.isNumber)), forKey: "length")
        }
    }

    /// All versions, with a lightweight step to the second one.
    static func plan(_ last: MigrationStage) throws -> SchemaMigrationPlan {
        SchemaMigrationPlan(from: try model(0)).then(.lightweight(), to: try model(1)).then(last, to: try model(2))
    }
}

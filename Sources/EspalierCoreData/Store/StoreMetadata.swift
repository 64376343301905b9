// The tables in which Core Data keeps facts about a store: Z_METADATA, Z_PRIMARYKEY and Z_MODELCACHE.

import EspalierModel
import EspalierModelFile
import FoundationEssentials

/// An entity as the store numbers it.
struct NumberedEntity {
    let number: Int64
    let name: String
    /// The greatest primary key that was given to a row of the hierarchy.
    let lastKey: Int64
}

/// The facts about a store.
struct StoreMetadata {
    /// The most entities of a store.
    static let entityCountMax = 65_536
    /// Core Data numbers its own entities, such as those of the history, from here on.
    static let ownEntitiesBegin: Int64 = 16_000

    /// The UUID of the store; empty if there is none.
    let identifier: String
    let list: MetadataList
    let entities: [NumberedEntity]
    /// The bytes of the model that is kept in the store; `nil` if there is none.
    let modelBytes: [UInt8]?

    init(_ database: SQLiteDatabase) throws(CoreDataImportError) {
        entities = try Self.entities(try Self.table("Z_PRIMARYKEY", database), database)
        let metadata = try Self.table("Z_METADATA", database)
        var row = metadata.rows()
        guard try withImportErrors({ () throws(SQLiteFileError) in try row.next() }) else {
            throw .notAStore(path: database.path, reason: "Z_METADATA has no row")
        }
        identifier = metadata.column("Z_UUID").map { row.record.value($0).text } ?? ""
        list = MetadataList(metadata.column("Z_PLIST").map { row.record.value($0).bytes } ?? [])
        let cache = try withImportErrors { () throws(SQLiteFileError) in try database.table("Z_MODELCACHE") }
        guard let cache else {
            modelBytes = nil
            return
        }
        var model = cache.rows()
        guard try withImportErrors({ () throws(SQLiteFileError) in try model.next() }) else {
            modelBytes = nil
            return
        }
        modelBytes = cache.column("Z_CONTENT").map { model.record.value($0).bytes }
    }

    private static func table(_ name: String, _ database: SQLiteDatabase) throws(CoreDataImportError) -> SQLiteTable {
        guard let table = try withImportErrors({ () throws(SQLiteFileError) in try database.table(name) }) else {
            throw .notAStore(path: database.path, reason: "it has no table \(name)")
        }
        return table
    }

    private static func entities(
        _ table: SQLiteTable, _ database: SQLiteDatabase
    ) throws(CoreDataImportError) -> [NumberedEntity] {
        guard let number = table.column("Z_ENT"), let name = table.column("Z_NAME"),
            let lastKey = table.column("Z_MAX")
        else {
            throw .notAStore(path: database.path, reason: "Z_PRIMARYKEY has no columns Z_ENT, Z_NAME and Z_MAX")
        }
        var entities: [NumberedEntity] = []
        var rows = table.rows()
        while try withImportErrors({ () throws(SQLiteFileError) in try rows.next() }) {
            guard entities.count < entityCountMax else {
                throw .notAStore(path: database.path, reason: "it has more than \(entityCountMax) entities")
            }
            let isRowID = table.rowIDColumn == number
            entities.append(
                NumberedEntity(
                    number: isRowID ? rows.rowID : rows.record.integer(number) ?? 0,
                    name: rows.record.value(name).text, lastKey: rows.record.integer(lastKey) ?? 0))
        }
        return entities
    }
}

/// Calls the reader of SQLite files.
@inline(__always)
func withImportErrors<R>(_ body: () throws(SQLiteFileError) -> R) throws(CoreDataImportError) -> R {
    do throws(SQLiteFileError) { return try body() } catch { throw .sqlite(error) }
}

extension SQLiteValue {
    /// The text; empty if the value is none.
    var text: String { if case .text(let text) = self { text } else { "" } }

    /// The bytes; empty if the value has none.
    var bytes: [UInt8] { if case .blob(let bytes) = self { bytes } else { [] } }
}

/// The property list with the metadata of a store.
struct MetadataList {
    /// The names of the entities whose version hashes are recorded; empty if there are none.
    let hashedEntities: Set<String>
    /// The application's own values.
    let values: [String: AttributeValue]
    /// The names of the application's own values that are no plain values, sorted.
    let otherValues: [String]

    init(_ bytes: [UInt8]) {
        var values: [String: AttributeValue] = [:]
        var (hashed, others): (Set<String>, [String]) = ([], [])
        if let list = try? BinaryPropertyList(bytes), case .dictionary(let keys, let items) = list.objects[list.top] {
            for (key, item) in zip(keys, items) {
                guard case .string(let name) = list.objects[key] else { continue }
                if name == "NSStoreModelVersionHashes", case .dictionary(let names, _) = list.objects[item] {
                    hashed = Set(
                        names.compactMap { if case .string(let name) = list.objects[$0] { name } else { nil } })
                }
                guard !name.hasPrefix("NS"), !name.hasPrefix("_NS") else { continue }
                if let value = Self.value(list.objects[item]) { values[name] = value } else { others.append(name) }
            }
        }
        (hashedEntities, self.values, otherValues) = (hashed, values, others.sorted())
    }

    private static func value(_ value: BinaryPropertyList.Value) -> AttributeValue? {
        switch value {
        case .boolean(let value): .boolean(value)
        case .integer(let value): .integer(value)
        case .real(let value): .double(value)
        case .date(let seconds): .date(Date(timeIntervalSinceReferenceDate: seconds))
        case .data(let bytes): .binary(Data(bytes))
        case .string(let text): .string(text)
        case .null, .reference, .array, .dictionary: nil
        }
    }
}

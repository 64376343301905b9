// One store of a world of requests: a kind, and the IDs that it gives to the rows of the world.
//
// Invariants
//   1. A file that holds a whole store is closed and loaded again after each save, so its answers are those of its
//      bytes.
//   2. Later rows of one hierarchy have greater keys.

import EspalierCoreData
import EspalierEngine
import EspalierModel
import EspalierStore
import FoundationEssentials

struct RequestStore {
    enum Kind: CaseIterable {
        case tree, memory, binary, xml
        /// The data of an application, which gives values that are derived across relationships itself.
        case application
    }

    let kind: Kind
    private(set) var store: any PersistentStore
    private(set) var snapshot: any StoreSnapshot
    /// By row.
    private(set) var ids: [ObjectID] = []
    private(set) var numbers: [ObjectID: Int] = [:]
    /// The IDs by the names that conditions have for rows.
    private var variables: [String: any PredicateArgument] = [:]
    private let files = MemoryFileSystem()

    init(_ kind: Kind, _ model: ManagedObjectModel) throws {
        self.kind = kind
        switch kind {
        case .tree: store = try BTreeStore.inMemory(model: model)
        case .memory: store = InMemoryStore(model: model)
        case .binary, .xml: store = try Self.load(kind, files, model)
        case .application:
            let source = DictionarySource(model: model)
            store = IncrementalStore(source, type: StoreType(rawValue: "Dictionaries"), model: model)
        }
        snapshot = try store.snapshot()
    }

    private static func load(
        _ kind: Kind, _ files: MemoryFileSystem, _ model: ManagedObjectModel
    ) throws -> WholeGraphStore {
        let format: any GraphFormat = kind == .xml ? XMLGraphFormat() : BinaryGraphFormat()
        return try WholeGraphStore(
            GraphFile("/store", format, in: files), type: kind == .xml ? .xml : .binary, model: model)
    }

    /// The name of a row in conditions.
    static func variable(of row: Int) -> FetchExpression { .variable("row\(row)") }

    /// A condition with the IDs of the store.
    func bound(_ predicate: FetchPredicate) throws -> FetchPredicate {
        try predicate.withSubstitutionVariables(variables)
    }

    /// Notes the ID of a row after the last one.
    mutating func append(_ id: ObjectID) { ids.append(id) }

    /// Saves; the last rows get the permanent IDs of the insertions.
    mutating func save(_ request: SaveRequest) throws {
        let inserted = Array(try store.save(request).inserted.ids)
        ids.replaceSubrange(ids.count - inserted.count..<ids.count, with: inserted)
        if kind == .binary || kind == .xml {
            let model = store.model
            try store.close()
            store = try Self.load(kind, files, model)
        }
        snapshot = try store.snapshot()
        numbers = Dictionary(uniqueKeysWithValues: ids.enumerated().map { ($1, $0) })
        for (row, id) in ids.enumerated() { variables["row\(row)"] = id }
    }

    /// The present version of a row.
    func version(_ row: Int) throws -> UInt64 {
        guard let stored = try snapshot.snapshots(of: [ids[row]])[0] else {
            throw FixtureError.unknown("row \(row) in \(kind)")
        }
        return stored.version
    }

    /// A value of a result.
    func plain(_ value: AttributeValue) -> PlainValue {
        switch value {
        case .null: .null
        case .integer(let number): .number(Double(number))
        case .double(let number): .number(number)
        case .float(let number): .number(Double(number))
        case .decimal(let number): .number(Double(number.description) ?? .nan)
        case .boolean(let flag): .flag(flag)
        case .string(let text): .text(PlainText.positions[text] ?? 0)
        case .date(let date): .day(date.timeIntervalSinceReferenceDate)
        case .objectID(let id): .row(numbers[id] ?? -1)
        case .binary(let bytes), .transformable(let bytes): .bytes(Array(bytes))
        case .uuid(let uuid): .bytes(PlainBytes.of(uuid))
        case .uri(let uri): .bytes(Array(uri.absoluteString.utf8))
        case .composite: preconditionFailure("\(value) is asked for as a whole")
        }
    }
}

// The body whose bytes are a row of a store.
//
// Promises
//   1. Any bytes in the place of a row give values or `damagedContent`.
//   2. Values that were read can be saved, and are read again as the same values.

import EspalierEngine
import EspalierModel
import EspalierStore
import FoundationEssentials

extension FuzzBody {
    /// The bytes are the row of an album.
    public static let row = FuzzBody(
        name: "row",
        seeds: {
            guard let fixture = RowFixture.shared else { return [:] }
            return ["album": fixture.seed, "header": Array(fixture.seed.prefix(14))]
        },
        run: { bytes in
            guard let fixture = RowFixture.shared else { preconditionFailure("the store cannot be made") }
            do throws(StoreError) {
                try fixture.read(bytes)
            } catch {
                guard case .damagedContent = error else { preconditionFailure("a row of bytes throws \(error)") }
                precondition(!"\(error)".isEmpty)
            }
        })
}

/// A store in memory with one album, whose row each run replaces.
private final class RowFixture: Sendable {
    static let shared: RowFixture? = try? RowFixture()

    /// The row that the store wrote.
    let seed: [UInt8]
    private let database: Database
    private let store: BTreeStore
    private let rows: Tree<UInt64>
    private let id: ObjectID

    private init() throws {
        var options = DatabaseOptions()
        options.applicationID = BTreeStore.applicationID
        database = try Database.inMemory(options: options)
        store = try BTreeStore.open(database, path: nil, model: FuzzModel.model)
        let album = FuzzModel.entity("Album")
        let artist = ObjectID(temporaryFor: FuzzModel.entity("Band"))
        let temporary = ObjectID(temporaryFor: album)
        var request = SaveRequest()
        request.insertions = [
            SaveRequest.Insertion(
                id: artist, values: FuzzModel.entity("Band").attributes.map { _ in .null }, destinations: [nil]),
            SaveRequest.Insertion(
                id: temporary, values: album.attributes.map { FuzzModel.albumValues[$0.name] ?? .null },
                destinations: album.relationships.map { $0.name == "artist" ? artist : nil }),
        ]
        guard let id = try store.save(request).inserted.last?.id else { throw StorageError.argument(.noEntry) }
        self.id = id
        let read = try database.beginRead()
        guard let rows = try read.tree(named: "rows:Album", keys: UInt64.self),
            let seed = try read.get(id.key, from: rows)
        else {
            throw StorageError.argument(.noEntry)
        }
        (self.rows, self.seed) = (rows, seed)
    }

    /// Replaces the row by `bytes` and reads it in every way.
    func read(_ bytes: [UInt8]) throws(StoreError) {
        do throws(StorageError) {
            var write = try database.beginWrite()
            try write.put(bytes, for: id.key, in: rows)
            try write.commit(Durability.none)
        } catch {
            preconditionFailure("the row cannot be written: \(error)")
        }
        guard let snapshot = try store.snapshots(of: [id]).first.flatMap(\.self) else { return }
        let album = FuzzModel.entity("Album")
        let values = album.attributes.indices.map { snapshot.value(at: $0) }
        let destinations = album.relationships.indices.map { snapshot.destination(at: $0) }
        _ = try store.fetch(StoreFetch(entity: album))
        try saveAgain(snapshot, values, destinations)
    }

    private func saveAgain(
        _ snapshot: ObjectSnapshot, _ values: [AttributeValue], _ destinations: [ObjectID?]
    ) throws(StoreError) {
        guard snapshot.version < UInt64.max else { return }
        var request = SaveRequest()
        request.updates = [
            SaveRequest.Update(
                id: id, expectedVersion: snapshot.version,
                values: values.indices.map { (slot: $0, value: values[$0]) })
        ]
        do throws(StoreError) {
            _ = try store.save(request)
        } catch {
            // The index lacks the values of a row that was replaced without it.
            if case .damagedContent = error { return }
            if case .invalidRequest = error { return }
            throw error
        }
        guard let again = try store.snapshots(of: [id]).first.flatMap(\.self) else {
            preconditionFailure("the row is gone")
        }
        for slot in values.indices {
            let value = again.value(at: slot)
            precondition(value.compare(values[slot]) == .orderedSame, "\(values[slot]) is read as \(value)")
        }
        for slot in destinations.indices { precondition(again.destination(at: slot) == destinations[slot]) }
    }
}

// Notices that others have changed the model of an open store: another store of this process on the same file, or the
// process that writes a file which this one reads.
//
// Invariants
//   1. A transaction whose trees have the known stamp needs no comparison: every change of the model renews the stamp
//      in its own commit (`StoreCatalog.renewStamp`).
//   2. A stamp may change without the model, as by trees whose transaction was rolled back: what decides is a
//      comparison of the model, the trees and the number of layouts.

internal import EspalierEngine
internal import EspalierModel
internal import Synchronization

extension BTreeStore {
    /// Refuses a transaction in which the file has another model than the catalog, or other trees or layouts.
    ///
    /// - Throws: `StoreError.modelChanged`.
    /// - Complexity: O(1) unless the stamp differs from the known one; else O(model).
    @inline(__always)
    func checkModel<Base: TreeReading & ~Copyable>(
        _ stamp: UInt32, in transaction: borrowing StoreTransaction<Base>
    ) throws(StoreError) {
        if stamp != knownStamp.load(ordering: .relaxed) { try compareModel(stamp, in: transaction) }
    }

    @inline(never)
    private func compareModel<Base: TreeReading & ~Copyable>(
        _ stamp: UInt32, in transaction: borrowing StoreTransaction<Base>
    ) throws(StoreError) {
        try Self.requireModel(fileModel?.descriptions ?? model.storedDescriptions, in: transaction)
        let present = try StoreCatalog.load(catalog.schema, storeTag: catalog.numbering.storeTag, from: transaction)
        guard present.hasSameTrees(as: catalog) else { throw .modelChanged(path: nil) }
        knownStamp.store(stamp, ordering: .relaxed)
    }

    /// The model in the file with the format of its rows, and the stamp of the trees at that moment.
    static func stampedModel(
        _ database: Database
    ) throws(StoreError) -> (stored: (model: ManagedObjectModel, format: UInt16)?, stamp: UInt32) {
        let transaction = try StoreTransaction(reading: database)
        let stored = try storedModel(in: transaction)
        return (stored, transaction.treeStamp)
    }

    /// Refuses to use a file whose model has other descriptions: another thread has changed it since it was read.
    ///
    /// - Throws: `StoreError.modelChanged`.
    static func requireModel<Base: TreeReading & ~Copyable>(
        _ descriptions: [EntityDescription], in transaction: borrowing StoreTransaction<Base>
    ) throws(StoreError) {
        guard let stored = try storedModel(in: transaction), StoredModel.isSame(stored.model.descriptions, descriptions)
        else { throw .modelChanged(path: nil) }
    }
}

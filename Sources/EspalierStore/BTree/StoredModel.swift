// The encoding of the model in a store file.

internal import EspalierModel

enum StoredModel {
    static func encode(_ model: ManagedObjectModel) -> [UInt8] { EncodedModel(model).bytes }

    static func decode(_ bytes: [UInt8]) throws(StoreError) -> ManagedObjectModel {
        func damaged(_ error: any Error) -> StoreError {
            .damaged(reason: "schema: the model cannot be read: \(error)")
        }
        let encoded: EncodedModel
        do { encoded = try EncodedModel(bytes: bytes) } catch { throw damaged(error) }
        do {
            return try ManagedObjectModel(entities: encoded.entities, versionIdentifiers: encoded.versionIdentifiers)
        } catch {
            throw damaged(error)
        }
    }
}

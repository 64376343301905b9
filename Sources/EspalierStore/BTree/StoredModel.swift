// The encoding of the model in a store file, and the comparison of models with those that were decoded.

internal import EspalierModel

enum StoredModel {
    static func encode(_ model: ManagedObjectModel) -> [UInt8] { EncodedModel(model).bytes }

    /// Whether a file holds the same for both descriptions.
    ///
    /// Decoding may give descriptions that differ from those that were encoded: NaN differs from itself, and a relative
    /// URL has lost its base. Their encodings are equal.
    ///
    /// - Parameter left: stored descriptions (`EntityDescription.stored`), as `right`.
    /// - Complexity: O(model).
    static func isSame(_ left: [EntityDescription], _ right: [EntityDescription]) -> Bool {
        left == right || EncodedModel(entities: left).bytes == EncodedModel(entities: right).bytes
    }

    static func decode(_ bytes: [UInt8]) throws(StoreError) -> ManagedObjectModel {
        func damaged(_ error: any Error) -> StoreError {
            .damaged(reason: "schema: the model cannot be read: \(error)")
        }
        let encoded: EncodedModel
        do { encoded = try EncodedModel(bytes: bytes) } catch { throw damaged(error) }
        do {
            return try ManagedObjectModel(
                entities: encoded.entities, versionIdentifiers: encoded.versionIdentifiers, classes: [:],
                judgesKeeping: false)
        } catch {
            throw damaged(error)
        }
    }
}

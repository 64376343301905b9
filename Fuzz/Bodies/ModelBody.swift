// The body whose bytes are an encoded model.
//
// Promises
//   1. Any bytes give descriptions or a located error.
//   2. Descriptions that were read are written as bytes that give equal descriptions, and the same bytes again.
//   3. Descriptions make a model or a list of problems; every valid model can have a store.

import EspalierEngine
import EspalierModel
import EspalierStore

extension FuzzBody {
    /// The bytes are an encoded model.
    public static let model = FuzzBody(
        name: "model",
        seeds: {
            [
                "media": EncodedModel(FuzzModel.model).bytes,
                "empty": EncodedModel(entities: [], versionIdentifiers: ["1"]).bytes,
                "tag": EncodedModel(entities: [EntityDescription("Tag")]).bytes,
            ]
        },
        run: { bytes in
            do throws(ModelCodingError) {
                checkModel(try EncodedModel(bytes: bytes))
            } catch {
                precondition(error.byteOffset <= bytes.count && !error.description.isEmpty)
            }
        })

    private static func checkModel(_ encoded: EncodedModel) {
        let bytes = encoded.bytes
        do throws(ModelCodingError) {
            let again = try EncodedModel(bytes: bytes)
            precondition(again == encoded, "an encoded model is read as another one")
            precondition(again.bytes == bytes, "the same model has two encodings")
        } catch {
            preconditionFailure("an encoded model cannot be read: \(error)")
        }
        let model: ManagedObjectModel
        do throws(ModelError) {
            model = try ManagedObjectModel(
                entities: encoded.entities, versionIdentifiers: encoded.versionIdentifiers)
        } catch {
            precondition(!error.description.isEmpty)
            return
        }
        precondition(EncodedModel(model).entities == encoded.entities, "a model loses part of its description")
        guard model.entities.count < 16 else { return }
        do throws(StoreError) {
            let store = try BTreeStore.inMemory(model: model)
            for entity in model.entities {
                let count = try store.count(StoreFetch(entity: entity))
                precondition(count == 0)
            }
            try store.close()
        } catch {
            // A name may be longer than the name of a tree can be; no other error is allowed.
            if case .storage(.argument(.keyTooLong(_, _)), _) = error { return }
            preconditionFailure("no store for a valid model: \(error)")
        }
    }
}

// The coordinator as the source of contexts: each open store is a part.

import EspalierModel
import EspalierStore

extension PersistentStoreCoordinator: ObjectSource {
    func snapshot(of part: SourcePart) throws(StoreError) -> any StoreSnapshot { try store(of: part).snapshot() }

    func reserveIDs(for entity: Entity, count: Int, in part: SourcePart) throws(StoreError) -> [ObjectID] {
        try store(of: part).reserveIDs(for: entity, count: count)
    }

    func save(_ request: SaveRequest, in part: SourcePart) throws(StoreError) -> SaveResult {
        try store(of: part).save(request)
    }
}

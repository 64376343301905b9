// The objects of a fetch as a collection that reads its rows page by page, when they are used (FR-04).
//
// Invariants
//   1. The order and the number of objects are those of the moment of the fetch: the collection has their IDs.
//   2. It retains the objects of the last pages only, and unsaved objects, which no store has.

public import EspalierModel
import EspalierStore

/// The results of a fetch, read in pages when they are used (FR-04).
///
/// ```swift
/// var request = FetchRequest<Track>(sortedBy: [SortKey("name")])
/// request.fetchBatchSize = 50
/// let tracks = try context.fetchPages(request)
/// print(tracks.count, tracks[1_000_000].name)  // reads one page
/// ```
///
/// It belongs to its context, as objects do. It takes 16 bytes for each object; the rows of three pages stay in memory,
/// and the objects that the application retains. An object that was deleted since reads as empty, with `isDeleted`. If
/// a page cannot be read, its objects are faults, which try again when they are used.
public struct ObjectPages<Object: ManagedObject>: RandomAccessCollection {
    private let reader: PageReader

    init(_ reader: PageReader) { self.reader = reader }

    /// The IDs of the objects; new ones have temporary IDs.
    public var ids: [ObjectID] { reader.ids }
    /// Zero.
    public var startIndex: Int { 0 }
    /// The number of objects.
    public var endIndex: Int { reader.ids.count }

    /// The object at `position`.
    ///
    /// - Complexity: O(1); the first one of a page reads its rows, in one trip to the store.
    public subscript(position: Int) -> Object {
        // SAFETY: the fetch has checked the class of each entity among the IDs.
        unsafe unsafeDowncast(reader.object(at: position), to: Object.self)
    }
}

/// The pages of one fetch.
final class PageReader {
    /// The number of pages whose objects are retained.
    private static let pageCountMax = 3

    let ids: [ObjectID]
    private let context: ManagedObjectContext
    private let terms: FetchTerms
    private let pageSize: Int
    /// The pages that were used last, the newest at the end.
    private var pages: [(number: Int, objects: [ManagedObject])] = []
    /// The objects that had temporary IDs at the fetch, by position.
    private var unsaved: [Int: ManagedObject] = [:]

    init(_ ids: [ObjectID], of terms: FetchTerms, in context: ManagedObjectContext) {
        (self.ids, self.terms, self.context) = (ids, terms, context)
        pageSize = terms.fetchBatchSize > 0 ? terms.fetchBatchSize : max(1, ids.count)
        for (position, id) in ids.enumerated() where id.isTemporary {
            unsaved[position] = context.memory.registry[id]
        }
    }

    func object(at position: Int) -> ManagedObject {
        let number = position / pageSize
        if let last = pages.last, last.number == number { return last.objects[position % pageSize] }
        if let known = pages.firstIndex(where: { $0.number == number }) {
            pages.append(pages.remove(at: known))
        } else {
            makeRoom()
            let objects = read(number)
            // A hook of one of these objects may have used other pages.
            makeRoom()
            pages.append((number, objects))
        }
        assert(pages.count <= Self.pageCountMax, "\(pages.count) pages are retained")
        return pages[pages.count - 1].objects[position % pageSize]
    }

    /// Releases the pages that leave no room for one more.
    private func makeRoom() {
        while pages.count >= Self.pageCountMax { pages.removeFirst() }
    }

    private func read(_ number: Int) -> [ManagedObject] {
        let positions = number * pageSize..<min(ids.count, (number + 1) * pageSize)
        let stored = positions.filter { unsaved[$0] == nil }.map { ids[$0] }
        let cohort = stored.count > 1 ? Cohort(stored, cache: context.cache) : nil
        let objects = positions.map { position in
            unsaved[position] ?? context.memory.registry[ids[position]]
                ?? context.makeFault(ids[position], cohort: cohort)
        }
        if terms.includesPropertyValues {
            // An error is told when the object is used: its fault tries again.
            for object in objects where object.isFault && !object.hasRow { try? context.loadRow(of: object) }
            try? context.loadRequestedContents(objects, terms)
        }
        return objects
    }
}

extension ManagedObjectContext {
    /// The objects that `fetch(_:)` returns, in pages of `fetchBatchSize` objects whose rows are read when the page is
    /// used (FR-04).
    ///
    /// With `shouldRefreshRefetchedObjects`, objects in use adopt the newest values at once (FR-14).
    ///
    /// - Throws: as `fetch(_:)`.
    /// - Complexity: that of `fetchIDs(_:)`.
    public func fetchPages<Object: ManagedObject>(
        _ request: FetchRequest<Object>
    ) throws(ContextError) -> ObjectPages<Object> {
        beginRefreshing(for: request.terms)
        let ids = try fetchIDs(request)
        var tag: UInt32?
        for id in ids where id.entityTag != tag {
            tag = id.entityTag
            let entity = model.entity(named: id.entityName)
            let objectClass = entity.map { model.objectClass(of: $0) }
            guard objectClass is Object.Type else {
                throw .wrongResultType(
                    entity: id.entityName, found: "\(objectClass ?? ManagedObject.self)", expected: "\(Object.self)")
            }
        }
        if request.terms.shouldRefreshRefetchedObjects {
            refresh(ids.compactMap { memory.registry[$0] }, for: request.terms)
        }
        return ObjectPages(PageReader(ids, of: request.terms, in: self))
    }
}

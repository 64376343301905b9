// Makes objects from rows: the only place that makes the object of a stored row.
//
// Invariants
//   1. A row with an object in memory never gets a second one (MO-18).
//   2. This code retains shape, cohort and row of an object during its initializer, which may run any code of the
//      application.
//   3. An object enters the registry only if its initializer has neither reset the context, which detaches the shape,
//      nor made another object for the row.
//   4. The object of a row that cascades have reached is deleted from its beginning (ReachedRows).

import EspalierModel
import EspalierStore

/// Makes the objects of consecutive rows, mostly of one entity and one cohort.
struct RowObjectMaker {
    private let context: ManagedObjectContext
    private let cohort: Cohort?
    private var tag: UInt32
    private var shape: EntityShape

    /// - Parameter first: the ID of the first row, whose entity most of the others share.
    @inline(__always)
    init(_ context: ManagedObjectContext, cohort: Cohort?, first: ObjectID) {
        (self.context, self.cohort, tag) = (context, cohort, first.entityTag)
        shape = context.shapeOfRow(first)
    }

    /// The object of a fetched row; one that is already in memory adopts row and cohort, if it can use them.
    @inline(__always)
    mutating func object(_ id: ObjectID, _ content: RowContent, _ place: RowContent.Place) -> ManagedObject {
        guard let known = context.memory.registry[id] else {
            return make(id, content, place, absentSince: context.memory.registry.edition)
        }
        update(known, content, place)
        return known
    }

    /// Gives an object that is already in memory the row and the cohort, if it can use them.
    // A method of its own: as a part of `object`, it would make `object` retain the row of each new object too.
    @inline(never)
    private func update(_ known: ManagedObject, _ content: RowContent, _ place: RowContent.Place) {
        if known.isFault { known.setRow(content, place) }
        if let cohort, known.cohort.map({ $0.members.count < cohort.members.count }) ?? true { known.cohort = cohort }
    }

    /// A new object for a row without an object, with the row if the cache has it.
    mutating func makeFault(_ id: ObjectID) -> ManagedObject {
        let row = context.cache.row(of: id)
        return make(id, row?.content, row?.place ?? .none)
    }

    @inline(__always)
    private mutating func make(
        _ id: ObjectID, _ content: RowContent?, _ place: RowContent.Place, absentSince edition: UInt64? = nil
    ) -> ManagedObject {
        if id.entityTag != tag { (tag, shape) = (id.entityTag, context.shapeOfRow(id)) }
        let object = shape.objectClass.init(ObjectSeed(id, shape, cohort, content, place))
        withExtendedLifetime(content) {}
        guard !shape.context.isNil else { return object }
        guard context.memory.registry.insertIfAbsent(object, since: edition) else {
            object.leaveContext()
            return context.memory.registry[id] ?? object
        }
        if context.memory.reached.hasRows { context.beginDeleted(object) }
        return object
    }
}

extension ManagedObjectContext {
    /// A new object for a row without an object, with the row if the cache has it.
    func makeFault(_ id: ObjectID, cohort: Cohort? = nil) -> ManagedObject {
        var objects = RowObjectMaker(self, cohort: cohort, first: id)
        return objects.makeFault(id)
    }
}

extension SnapshotList {
    /// Calls `body` with position, content and place of each row.
    @inline(__always)
    func forEachRow(_ body: (Int, RowContent, RowContent.Place) throws -> Void) rethrows {
        var position = 0
        for index in 0..<partCount {
            let part = part(index)
            while position < part.end {
                try body(position, part.content, places[position])
                position += 1
            }
        }
    }
}

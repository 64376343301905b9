// The initial state of an object: a new one, or one for a row.
//
// Invariants
//   1. Only this module makes seeds, and each makes one object: a seed cannot be copied.
//   2. The maker of a seed retains shape, cohort and row until the object exists, which counts as one of theirs and
//      retains its row, because the initializer of a class may make the context forget them.
//   3. A seed retains nothing, so that passing it on through the initializers of classes copies only bits (see
//      Decisions, "Seeds").

import EspalierModel
import EspalierStore

/// The state from which a context makes an object; opaque to the classes of an application, which pass it on.
///
/// Override `ManagedObject.init(_:)` only in a class whose initializer must run for every object, including fetched
/// ones, and pass the seed to `super.init(_:)`.
public struct ObjectSeed: ~Copyable {
    let id: ObjectID
    let shape: Unretained<EntityShape>
    let cohort: Unretained<Cohort>
    /// The committed values, if they are in memory.
    let content: Unretained<RowContent>
    let place: RowContent.Place
    let state: ManagedObject.State

    /// The seed of an object that does not belong to a context yet.
    init(newOf shape: EntityShape) {
        id = ObjectID(temporaryFor: shape.entity)
        self.shape = Unretained(shape)
        (cohort, content, place, state) = (Unretained(nil), Unretained(nil), .none, [])
    }

    /// The seed of an object for a row.
    @inline(__always)
    init(_ id: ObjectID, _ shape: EntityShape, _ cohort: Cohort?, _ content: RowContent?, _ place: RowContent.Place) {
        (self.id, self.shape, self.cohort) = (id, Unretained(shape), Unretained(cohort))
        (self.content, self.place, state) = (Unretained(content), place, .registered)
    }
}

// A generation that contexts hand to one another, and how a context moves from one to another (MC-51).

import EspalierStore

/// A moment of all stores that contexts can read (MC-51).
///
/// While it is kept, the stores' logs keep what it needs, up to their cap.
public struct QueryGenerationToken: Sendable {
    /// What to read.
    enum Moment: Sendable {
        /// The newest generation there is when the context is told.
        case newest
        /// Snapshots of stores, by number of the part.
        case snapshots([UInt64: any StoreSnapshot])
    }

    let moment: Moment

    /// The newest generation at the time it is given to a context.
    public static let current = QueryGenerationToken(moment: .newest)
}

extension QueryGenerationToken: Equatable {
    /// Whether both stand for the same generation of the same stores.
    public static func == (left: QueryGenerationToken, right: QueryGenerationToken) -> Bool {
        switch (left.moment, right.moment) {
        case (.newest, .newest): true
        case (.snapshots(let left), .snapshots(let right)):
            left.mapValues(\.generation) == right.mapValues(\.generation)
        default: false
        }
    }
}

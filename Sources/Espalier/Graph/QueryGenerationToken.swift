// A generation that one context can hand to another (MC-51).

import EspalierStore

/// A moment of all stores that contexts can read (MC-51).
///
/// As long as the token is retained, the stores' logs keep the pages that the moment needs, up to their cap.
public struct QueryGenerationToken: Sendable {
    /// The generation to read.
    enum Moment: Sendable {
        /// The newest generation when the context receives the token.
        case newest
        /// Snapshots of stores, by number of the part.
        case snapshots([UInt64: any StoreSnapshot])
    }

    let moment: Moment

    /// The newest generation when the token is given to a context.
    public static let current = QueryGenerationToken(moment: .newest)
}

extension QueryGenerationToken: Equatable {
    /// Whether both denote the same generation of the same stores.
    public static func == (left: QueryGenerationToken, right: QueryGenerationToken) -> Bool {
        switch (left.moment, right.moment) {
        case (.newest, .newest): true
        case (.snapshots(let left), .snapshots(let right)):
            left.mapValues(\.generation) == right.mapValues(\.generation)
        default: false
        }
    }
}

// Calls that would wait for the end of a write of their own thread: a store refuses them, and so can a coordinator.

internal import EspalierEngine

/// The thread that makes a call.
package enum CallingThread {
    /// A number that no other thread of this process has or had; 0 if the system gives none.
    package static var number: UInt { Platform.lifelongThreadNumber }
}

extension StoreError {
    /// The refusal of a change by a thread on which the same store carries out a command.
    package static func alreadyWriting(path: String?) -> StoreError {
        .storage(.transaction(.alreadyWriting), path: path)
    }

    /// Whether the call would have waited for a write of its own thread.
    package var isAlreadyWriting: Bool {
        if case .storage(.transaction(.alreadyWriting), _) = self { true } else { false }
    }
}

// B-tree files as descriptions have them: with options by key, and waiting for a process that writes.

internal import EspalierEngine
internal import EspalierModel

extension BTreeStore {
    /// Opens a described file; waits for another process that writes it as long as the option `timeout` says.
    static func open(_ opening: StoreOpening) throws(StoreError) -> BTreeStore {
        try opening.requireOptions(among: [
            .timeout, .cacheByteCount, .pageSize, .logByteCountMax, .sortByteCountMax,
        ])
        guard let path = opening.path else {
            throw .invalidRequest(reason: "a store of kind \(opening.type.rawValue) needs a path")
        }
        var options = DatabaseOptions()
        if opening.isReadOnly { options.access = .readOnly }
        if let count = try opening.count(of: .cacheByteCount) { options.cacheByteCount = count }
        if let count = try opening.count(of: .pageSize) { options.pageSize = count }
        if let count = try opening.count(of: .logByteCountMax) { options.logByteCountMax = count }
        let sortByteCountMax = try opening.count(of: .sortByteCountMax)
        let start = ContinuousClock.now
        let timeout = try opening.number(of: .timeout) ?? 0
        while true {
            do throws(StoreError) {
                let store = try open(
                    path: path, model: opening.model, migration: opening.migration, options: options)
                if let sortByteCountMax { store.sortByteCountMax = sortByteCountMax }
                return store
            } catch {
                guard error.isBusy, start.duration(to: .now) < .seconds(timeout) else { throw error }
                Platform.pause(milliseconds: 20)
            }
        }
    }
}

extension StoreOpening {
    fileprivate func count(of option: StoreOption) throws(StoreError) -> Int? {
        guard let number = try number(of: option) else { return nil }
        guard let count = Int(exactly: number) else {
            throw .invalidOption(option.rawValue, store: type.rawValue, reason: "\(number) is no number of bytes")
        }
        return count
    }
}

extension StoreError {
    /// Whether another process has the file open for writing.
    fileprivate var isBusy: Bool {
        if case .storage(.opening(.storeBusy), _) = self { true } else { false }
    }
}

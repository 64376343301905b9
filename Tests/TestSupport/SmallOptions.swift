// Options of a store in which few bytes reach much code.

package import EspalierEngine

extension DatabaseOptions {
    /// A small cache, small segments and a log that is soon full.
    package static var small: DatabaseOptions {
        var options = DatabaseOptions()
        options.cacheByteCount = 32 * options.pageSize
        options.logSegmentByteCount = 64 << 10
        options.logSoftCap = 128 << 10
        options.logByteCountMax = 1 << 20
        return options
    }
}

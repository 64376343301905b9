// Options of a store in which a few kilobytes exercise eviction, recycling and checkpoints.

package import EspalierEngine

extension DatabaseOptions {
    /// A small cache, small segments and a small log cap.
    package static var small: DatabaseOptions {
        var options = DatabaseOptions()
        options.cacheByteCount = 32 * options.pageSize
        options.logSegmentByteCount = 64 << 10
        options.logSoftCap = 128 << 10
        options.logByteCountMax = 1 << 20
        return options
    }
}

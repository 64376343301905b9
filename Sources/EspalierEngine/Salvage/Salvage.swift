// Salvage: makes a new, sound store from the remains of a damaged one.
//
// A leaf holds all that its rows need: whole keys (with the page's prefix), the number of its tree, and the range of
// keys that it covers. So no interior page is needed. A row belongs to the newest leaf whose range contains its key:
// the range of a discarded leaf is covered by leaves that are written later. Leaves are therefore processed in the
// order of their LSNs, and each first clears its range in the new tree.
//
// Invariants
//   1. The damaged files are only read.
//   2. Any input bytes give a sound store or a typed error; work and memory are bounded by the files' sizes.
//   3. The new store appears under its name when it is complete, closed and durable, and never replaces a file.
// Memory: 24 bytes per leaf, 8 per overflow page and 24 per page version in the log, beside the cache.

extension Database {
    /// Makes a new store at `newPath` from the readable parts of the store at `path` and the log beside it.
    ///
    /// No other process may be writing the damaged store meanwhile. Trees keep their numbers; a tree whose name is lost
    /// is called `lost+found/<number>`.
    ///
    /// - Throws: `noSuchStore`; `corruption` with rule 10 if the hash seed is lost, so that nothing can be verified
    ///   (`acceptsDamaged` permits that); `notAStore` if nothing in the file looks like a page; `unsupportedFormat`,
    ///   `unsupportedFeatures`; `io`, also if there is a file at `newPath`; `diskFull`. Damage is reported, not thrown.
    /// - Complexity: O(bytes of the files), O(n log n) in the number of rows.
    public static func salvage(
        from path: String, into newPath: String, options: SalvageOptions = .init()
    ) throws(StorageError) -> SalvageReport {
        try salvage(from: path, into: newPath, in: PosixFileSystem.shared, options: options)
    }

    /// Salvages within any file system.
    package static func salvage(
        from path: String, into newPath: String, in fileSystem: any FileSystem, options: SalvageOptions,
        storeOptions: DatabaseOptions = .init()
    ) throws(StorageError) -> SalvageReport {
        let exists = IOFailure(operation: .rename, file: .store, errno: Platform.exists)
        let entry = try fileSystem.entry(at: newPath)
        guard try entry.identity(role: .store) == nil else { throw .io(exists) }
        let damaged = try DamagedStore(path, in: fileSystem, options)
        let survey = try SalvageSurvey(damaged, options)
        let temporary = entry.temporary(fileSystem.random())
        do throws(StorageError) {
            let report = try write(survey, of: damaged, to: temporary, fileSystem, options, storeOptions)
            guard try temporary.renameExclusively(to: entry, role: .store) else { throw .io(exists) }
            try entry.directory.sync()
            return report
        } catch {
            // Temporary files that cannot be removed do no harm: their names are never opened.
            do throws(StorageError) { try temporary.remove(role: .store) } catch {}
            do throws(StorageError) { try temporary.log.remove(role: .log) } catch {}
            throw error
        }
    }

    private static func write(
        _ survey: SalvageSurvey, of damaged: DamagedStore, to entry: DirectoryEntry,
        _ fileSystem: any FileSystem, _ options: SalvageOptions, _ storeOptions: DatabaseOptions
    ) throws(StorageError) -> SalvageReport {
        var storeOptions = storeOptions
        storeOptions.pageSize = damaged.geometry.pageSize
        storeOptions.access = .readWrite
        storeOptions.createIfMissing = true
        // No commit needs a sync of its own: closing the store makes all of it durable.
        storeOptions.durability = .ordered
        // The values of a single leaf may be larger than any cap allows.
        storeOptions.logByteCountMax = .max
        storeOptions.applicationID = options.applicationID ?? damaged.superblock?.applicationID ?? 0
        storeOptions.applicationVersion = options.applicationVersion ?? damaged.superblock?.applicationVersion ?? 0
        let database = try Database.open(entry, in: fileSystem, options: storeOptions)
        do throws(StorageError) {
            // Before the file has rows, and before the first write makes its log, which gets the same ones.
            if let rights = damaged.rights {
                try database.engine.files.store.setRights(rights.writableByOwner)
            }
            let report = try SalvageWriter(survey, damaged, database, options).write()
            try database.close()
            return report
        } catch {
            do throws(StorageError) { try database.close() } catch {}
            throw error
        }
    }
}

// The operations of the buffer pool that need its lock: loading, evicting, renaming and forgetting pages.

import Synchronization

extension BufferPool {
    /// The result of a search under the lock.
    private enum Found {
        case present(Int)
        case loading
        case claimed(Int)
        case full
    }

    /// Pins `version` of `page`, calling `load` to read and verify it if it is not in memory.
    ///
    /// - Parameter load: fills the given page; returns `false` if the version is no longer at its place in the log.
    /// - Returns: `nil` if `load` returned `false`.
    package func pin(
        _ page: PageNumber, version: UInt64, load: (PageView) throws(StorageError) -> Bool
    ) throws(StorageError) -> PagePin? {
        while true {
            if let pin = pinIfPresent(page, version: version) { return pin }
            switch findOrClaim(page, version: version) {
            case .present(let frame): return pin(of: frame, page: page)
            case .loading: Platform.yield()
            case .claimed(let frame): return try loadClaimed(frame, page: page, load: load)
            case .full: return try loadLoosely(page, load: load)
            }
        }
    }

    /// Searches again under the lock; if the page is not there, claims a frame for it, with the caller as its owner.
    private func findOrClaim(_ page: PageNumber, version: UInt64) -> Found {
        shared.withLock { shared in
            if let place = place(of: page, version: version) {
                // SAFETY: numbers in the table are 1...frameCount.
                let frame = Int(unsafe table[place].load(ordering: .relaxed)) - 1
                let before = unsafe descriptors[frame].pins.add(1, ordering: .acquiring).oldValue
                if before >= 0 { return .present(frame) }
                unsafe descriptors[frame].pins.subtract(1, ordering: .releasing)
                return .loading
            }
            misses.add(1, ordering: .relaxed)
            guard let frame = claimVictim(&shared) else { return .full }
            setKey(of: frame, page: page, version: version)
            return .claimed(frame)
        }
    }

    /// Loads the page of a claimed frame, and shares the frame.
    private func loadClaimed(
        _ frame: Int, page: PageNumber, load: (PageView) throws(StorageError) -> Bool
    ) throws(StorageError) -> PagePin? {
        do throws(StorageError) {
            guard try load(view(of: frame)) else {
                abandon(frame)
                return nil
            }
        } catch {
            abandon(frame)
            throw error
        }
        assert(isOwned(frame), "invariant 1: frame \(frame) is loaded without an owner")
        // SAFETY: this call owns the frame; from here on its bytes do not change (invariant 2).
        unsafe descriptors[frame].isReferenced.store(true, ordering: .relaxed)
        unsafe descriptors[frame].pins.add(1 - Self.exclusive, ordering: .acquiringAndReleasing)
        return pin(of: frame, page: page)
    }

    /// Releases a claimed frame without a page.
    private func abandon(_ frame: Int) {
        assert(isOwned(frame), "invariant 1: frame \(frame) is released without an owner")
        shared.withLock { _ in clearKey(of: frame) }
        // SAFETY: this call owns the frame until this line.
        unsafe descriptors[frame].pins.subtract(Self.exclusive, ordering: .releasing)
    }

    // MARK: Loading ahead

    /// The most pages that one call of `loadAhead` should load: 128 KiB, but at least 4 pages, and no more than an
    /// eighth of the pool, so that pages that are in use remain.
    package var aheadCountMax: Int { min(max((128 << 10) / pageSize, 4), frameCount / 8) }

    /// Loads version 0 of `pages` without pinning them; those in memory are left out, and all when no frame is left.
    ///
    /// Does not wait for other threads. A page that no reader pins is evicted by the next turn of the clock.
    ///
    /// - Parameter load: fills the given pages, a part of `pages` in the same order, and returns which of them it has
    ///   read and verified.
    package func loadAhead(
        _ pages: [PageNumber], load: ([(number: PageNumber, target: PageView)]) -> [Bool]
    ) {
        let claims = shared.withLock { shared in
            var claims: [(page: PageNumber, frame: Int)] = []
            for page in pages where place(of: page, version: 0) == nil {
                guard let frame = claimVictim(&shared) else { break }
                setKey(of: frame, page: page, version: 0)
                claims.append((page, frame))
            }
            return claims
        }
        guard !claims.isEmpty else { return }
        misses.add(UInt64(claims.count), ordering: .relaxed)
        let isLoaded = load(claims.map { ($0.page, view(of: $0.frame)) })
        assert(isLoaded.count == claims.count, "\(isLoaded.count) of \(claims.count) pages were tried")
        for (claim, isLoaded) in zip(claims, isLoaded) {
            guard isLoaded else {
                abandon(claim.frame)
                continue
            }
            // SAFETY: this call owns the frame until this line; from here on its bytes do not change (invariant 2).
            unsafe descriptors[claim.frame].isReferenced.store(false, ordering: .relaxed)
            unsafe descriptors[claim.frame].pins.subtract(Self.exclusive, ordering: .releasing)
        }
    }

    /// Loads a page into memory of its own when all frames are pinned (invariant 5).
    private func loadLoosely(
        _ page: PageNumber, load: (PageView) throws(StorageError) -> Bool
    ) throws(StorageError) -> PagePin? {
        // SAFETY: this call owns the page until it returns a pin; the page is freed only when its counter is 0.
        let loose = makeLoosePage(pins: 1)
        do throws(StorageError) {
            if try load(loose.view) {
                return unsafe PagePin(number: page, view: loose.view, counter: loose.counter)
            }
        } catch {
            unsafe loose.counter.pointee.subtract(1, ordering: .releasing)
            throw error
        }
        unsafe loose.counter.pointee.subtract(1, ordering: .releasing)
        return nil
    }

    /// Allocates a page with memory of its own; frees those that have no pin any more.
    func makeLoosePage(pins: Int32) -> LoosePage {
        let page = LoosePage(pageSize: pageSize, pins: pins)
        assert(page.view.byteCount == pageSize, "a loose page of \(page.view.byteCount) bytes")
        shared.withLock { shared in
            shared.loosePages.removeAll { old in
                // SAFETY: a loose page is never pinned a second time, so 0 pins stay 0.
                guard unsafe old.counter.pointee.load(ordering: .acquiring) == 0 else { return false }
                old.deallocate()
                return true
            }
            shared.loosePages.append(page)
        }
        return page
    }

    // MARK: Frames for private copies

    /// A frame without a page, owned by the caller; `nil` if all frames are pinned.
    package func takeFrame() -> Int? { shared.withLock { shared in claimVictim(&shared) } }

    /// Shares a frame from `takeFrame` as `version` of `page`; the caller no longer owns it.
    package func share(_ frame: Int, as page: PageNumber, version: UInt64) {
        assert(isOwned(frame), "invariant 1: frame \(frame) is shared without an owner")
        assert(version != 0, "page \(page) comes from the store file, not from the log")
        shared.withLock { _ in setKey(of: frame, page: page, version: version) }
        // SAFETY: the caller owns the frame until this line.
        unsafe descriptors[frame].isReferenced.store(true, ordering: .relaxed)
        unsafe descriptors[frame].pins.subtract(Self.exclusive, ordering: .releasing)
    }

    // MARK: Renaming

    /// Makes `version` of `page` version 0, after a checkpoint wrote it to the store file; forgets the old version 0.
    package func rename(_ page: PageNumber, version: UInt64) {
        assert(version != 0, "page \(page) comes from the store file, not from the log")
        shared.withLock { _ in
            if let old = place(of: page, version: 0) { clearKey(of: frame(at: old)) }
            guard let place = place(of: page, version: version) else { return }
            let frame = frame(at: place)
            clearKey(of: frame)
            setKey(of: frame, page: page, version: 0)
            assert(self.place(of: page, version: version) == nil, "page \(page) has two names")
        }
    }

    /// Forgets `version` of `page`, which is no longer used: its log position will be that of other bytes.
    package func forget(_ page: PageNumber, version: UInt64) {
        shared.withLock { _ in
            if let place = place(of: page, version: version) { clearKey(of: frame(at: place)) }
            assert(place(of: page, version: version) == nil, "page \(page) is still in the table")
        }
    }

    /// Forgets all pages of the store file, because another process changed it.
    package func forgetStorePages() {
        shared.withLock { _ in
            for frame in 0..<frameCount {
                // SAFETY: below `frameCount`.
                let isKeyed = unsafe descriptors[frame].page.load(ordering: .relaxed) != 0
                if isKeyed, unsafe descriptors[frame].version.load(ordering: .relaxed) == 0 { clearKey(of: frame) }
            }
        }
        assert(checkInvariants())
    }

    // MARK: Table and clock, all under the lock

    /// The frame at a place of the table; -1 if it is empty.
    private func frame(at place: Int) -> Int {
        // SAFETY: a caller's place is within the table.
        Int(unsafe table[place].load(ordering: .relaxed)) - 1
    }

    /// The place in the table of a key.
    private func place(of page: PageNumber, version: UInt64) -> Int? {
        let place = probes.firstPlace(from: home(page, version)) { place in
            frame(at: place) < 0 || hasKey(frame(at: place), page, version)
        }
        return frame(at: place) < 0 ? nil : place
    }

    private func setKey(of frame: Int, page: PageNumber, version: UInt64) {
        assert(page != 0, "frame \(frame) gets no page")
        assert(self.place(of: page, version: version) == nil, "page \(page) is in the table already")
        let place = probes.firstPlace(from: home(page, version)) { self.frame(at: $0) < 0 }
        // SAFETY: `frame` is below `frameCount`, `place` within the table.
        unsafe descriptors[frame].version.store(version, ordering: .relaxed)
        unsafe descriptors[frame].page.store(page, ordering: .relaxed)
        unsafe table[place].store(UInt32(frame + 1), ordering: .releasing)
    }

    /// Removes a frame from the table, if it is there; later entries move back so that probes still find them.
    private func clearKey(of frame: Int) {
        // SAFETY: frame numbers in the table are valid.
        let page = unsafe descriptors[frame].page.load(ordering: .relaxed)
        guard page != 0 else { return }
        let version = unsafe descriptors[frame].version.load(ordering: .relaxed)
        let gap = probes.firstPlace(from: home(page, version)) { self.frame(at: $0) == frame }
        unsafe descriptors[frame].page.store(0, ordering: .relaxed)
        // SAFETY: here and below, places are within the table, and frame numbers in it are valid.
        let hole = probes.closeGap(at: gap) { place in
            let other = self.frame(at: place)
            return other < 0
                ? nil
                : home(
                    unsafe descriptors[other].page.load(ordering: .relaxed),
                    unsafe descriptors[other].version.load(ordering: .relaxed))
        } move: { from, to in
            unsafe table[to].store(UInt32(self.frame(at: from) + 1), ordering: .releasing)
        }
        unsafe table[hole].store(0, ordering: .releasing)
        assert(place(of: page, version: version) == nil, "page \(page) was in the table twice")
    }

    /// Evicts the page of an unpinned frame, and makes the caller the frame's owner; `nil` if all frames are pinned.
    private func claimVictim(_ shared: inout Shared) -> Int? {
        for _ in 0..<frameCount * 2 {
            let frame = shared.hand
            shared.hand = frame + 1 == frameCount ? 0 : frame + 1
            // SAFETY: `frame` is below `frameCount`.
            guard unsafe descriptors[frame].pins.load(ordering: .relaxed) == 0 else { continue }
            if unsafe descriptors[frame].isReferenced.exchange(false, ordering: .relaxed) { continue }
            let claim = unsafe descriptors[frame].pins.compareExchange(
                expected: 0, desired: Self.exclusive, ordering: .acquiringAndReleasing)
            guard claim.exchanged else { continue }
            clearKey(of: frame)
            assert(isOwned(frame), "invariant 1: frame \(frame) has no owner")
            assert(checkEviction(hand: shared.hand))
            return frame
        }
        return nil
    }

    // MARK: Invariants

    /// Whether a frame has one owner (invariant 1).
    ///
    /// A reader that finds it in the table counts a pin for a moment; so does the owner for each pin of a private copy.
    func isOwned(_ frame: Int) -> Bool {
        // SAFETY: the pointer is used within this expression only.
        unsafe pinCounter(of: frame).pointee.load(ordering: .relaxed) < 0
    }

    /// The number of frames that are pinned or have an owner.
    ///
    /// O(frames).
    var pinCount: Int {
        // SAFETY: each pointer is used within this expression only.
        (0..<frameCount).reduce(0) { count, frame in
            unsafe pinCounter(of: frame).pointee.load(ordering: .relaxed) == 0 ? count : count + 1
        }
    }

    /// Asserts the invariants of table and frames; to be called in `assert`.
    ///
    /// O(frames) in a pool of up to 256 frames; of a larger one, it checks 256 to 511 frames.
    func checkInvariants() -> Bool { shared.withLock { shared in checkFrames(hand: shared.hand) } }

    /// As `checkInvariants`, for a caller that holds the lock.
    private func checkFrames(hand: Int) -> Bool {
        assert(hand >= 0 && hand < frameCount, "the hand is at frame \(hand)")
        for frame in stride(from: 0, to: frameCount, by: max(1, frameCount / 256)) { check(frame) }
        guard frameCount <= 256 else { return true }
        // SAFETY: places are masked.
        let inTable = (0..<probes.count).count { unsafe table[$0].load(ordering: .relaxed) != 0 }
        let keyed = (0..<frameCount).count { unsafe descriptors[$0].page.load(ordering: .relaxed) != 0 }
        assert(inTable == keyed, "invariant 3: \(keyed) frames have keys, \(inTable) are in the table")
        return true
    }

    /// Asserts the invariants after an eviction: of the next frames at the hand, and of all after a turn of the clock;
    /// to be called in `assert`, under the lock.
    ///
    /// An eviction moves entries of the table, and the frames of those may be anywhere: so the hand chooses. O(1) on
    /// average.
    private func checkEviction(hand: Int) -> Bool {
        if hand == 0 { return checkFrames(hand: hand) }
        for frame in hand..<min(hand + 4, frameCount) { check(frame) }
        return true
    }

    /// Asserts the invariants of one frame; the caller holds the lock.
    private func check(_ frame: Int) {
        // SAFETY: `frame` is below `frameCount`, places in the table are masked.
        let pins = unsafe descriptors[frame].pins.load(ordering: .relaxed)
        assert(pins >= 0 || pins < Self.exclusive / 2, "invariant 1: frame \(frame) has \(pins) pins")
        let page = unsafe descriptors[frame].page.load(ordering: .relaxed)
        guard page != 0 else { return }
        guard let place = place(of: page, version: unsafe descriptors[frame].version.load(ordering: .relaxed)) else {
            return assertionFailure("invariant 3: page \(page) of frame \(frame) is not found")
        }
        assert(self.frame(at: place) == frame, "page \(page) is in frames \(frame) and \(self.frame(at: place))")
    }
}

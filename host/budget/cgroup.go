package budget

import (
	"io/fs"
	"path"
	"strconv"
	"strings"
)

// hierarchy is a tree of control groups that limits memory. A machine has one of the second
// version, one of the first for each controller, or both.
type hierarchy struct {
	group string // of this process, from the root of the hierarchy
	limit string // the name of the file with the limit of a group
	// mount is the folder where the group root is mounted. In a container root is often the group of the container, and
	// the groups above it cannot be seen.
	mount, root string
}

// groupLimits are the limits of memory of the process's own group and of all groups above it. The kernel keeps to each
// of them, so the least one counts: systemd sets MemoryMax= on a service or on a slice above it, Kubernetes on the pod
// and on each container.
func groupLimits(root fs.FS) (limits []int64) {
	for _, h := range hierarchies(root) {
		folder := h.folder()
		for {
			if text, err := fs.ReadFile(root, relative(path.Join(folder, h.limit))); err == nil {
				if limit, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64); err == nil && limit > 0 {
					limits = append(limits, limit) // "max" is none
				}
			}
			if folder == h.mount || folder == "/" {
				break
			}
			folder = path.Dir(folder)
		}
	}
	return limits
}

// folder is where the process's group is found. A group outside of the mounted root is not
// visible; the mounted root is the nearest one then.
func (h *hierarchy) folder() string {
	below, ok := strings.CutPrefix(h.group, strings.TrimSuffix(h.root, "/"))
	if !ok || below != "" && below[0] != '/' || strings.Contains(h.group, "/..") {
		return h.mount
	}
	return path.Join(h.mount, below)
}

// hierarchies joins the process's groups with the places where they are mounted.
func hierarchies(root fs.FS) (found []hierarchy) {
	groups, err := fs.ReadFile(root, "proc/self/cgroup")
	if err != nil {
		return nil
	}
	mounts, err := fs.ReadFile(root, "proc/self/mountinfo")
	if err != nil {
		return nil
	}
	for line := range strings.Lines(string(groups)) {
		// "4:memory:/a/b" is of the first version, "0::/a/b" of the second.
		fields := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3)
		if len(fields) != 3 {
			continue
		}
		h := hierarchy{group: fields[2], limit: "memory.limit_in_bytes"}
		second := fields[0] == "0" && fields[1] == ""
		if second {
			h.limit = "memory.max"
		} else if !hasOption(fields[1], "memory") {
			continue
		}
		if h.locate(string(mounts), second) {
			found = append(found, h)
		}
	}
	return found
}

// locate finds the mount of a hierarchy among lines of mountinfo:
//
//	35 31 0:32 /root /mount/point rw,relatime shared:9 - cgroup cgroup rw,memory
func (h *hierarchy) locate(mounts string, second bool) bool {
	for line := range strings.Lines(mounts) {
		left, right, ok := strings.Cut(line, " - ")
		place, kind := strings.Fields(left), strings.Fields(right)
		if !ok || len(place) < 5 || len(kind) < 3 {
			continue
		}
		if second && kind[0] == "cgroup2" || !second && kind[0] == "cgroup" && hasOption(kind[2], "memory") {
			h.root, h.mount = unescape.Replace(place[3]), path.Clean(unescape.Replace(place[4]))
			return true
		}
	}
	return false
}

// unescape undoes how the kernel writes names in mountinfo.
var unescape = strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)

func hasOption(list, option string) bool {
	for o := range strings.SplitSeq(list, ",") {
		if o == option {
			return true
		}
	}
	return false
}

// relative is a path as package fs wants it.
func relative(absolute string) string { return strings.TrimPrefix(path.Clean(absolute), "/") }

module pt2

go 1.21
